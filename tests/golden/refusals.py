"""The messages of refused configurations, by two versions of the code.

``refusals.jsonl`` has one configuration per line, each with at least one mistake.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

CONFIGURATIONS = Path(__file__).with_name("refusals.jsonl")


class Runs(Protocol):
    """What runs Python with the packages of a checkout, and returns what it printed."""

    folder: Path
    earlier: Path
    later: Path

    def run(self, code: Path, work: Path, *arguments: str) -> str:
        """Run Python in a folder."""


def refusal_differences(runs: Runs) -> Iterator[str]:
    """Yield a line for each configuration whose message differs between two checkouts."""
    script = str(Path(__file__).with_name("refuse.py"))
    printed = (runs.run(code, runs.folder, script, str(CONFIGURATIONS)) for code in (runs.earlier, runs.later))
    before, after = ([json.loads(line) for line in each.splitlines()] for each in printed)
    for number, (message, other) in enumerate(zip(before, after, strict=True), 1):
        if message != other:
            yield f"refusals/{number}: {other!r}, expected {message!r}"
