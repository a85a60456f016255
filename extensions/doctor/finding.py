"""A line of the table of ``beirflow doctor``."""

from typing import NamedTuple

OK, WARNING, PROBLEM = "ok", "warning", "problem"

DEADLINE = 6.0  # seconds for all that may hang: hosts, nvidia-smi, the start of torch


class Finding(NamedTuple):
    """A line of the table."""

    status: str  # ``ok``, ``warning`` or ``problem``
    what: str
    found: str
    todo: str = ""
