"""The documentation names every key of a line of a pool."""

import re
from pathlib import Path

from beirflow.extensions.judging.pool import KEYS


def test_the_documentation_names_every_key_of_a_line_of_a_pool() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (section,) = re.findall(r"^## `pool/<dataset>.jsonl`(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert {*KEYS} <= set(re.findall(r"`(\w+)`", section))
