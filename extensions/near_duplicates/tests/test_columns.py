"""The documentation names every column of the pairs."""

import re
from pathlib import Path

from beirflow.extensions.near_duplicates.near_duplicates import PAIRS


def test_the_documentation_names_every_column_of_the_pairs() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    (section,) = re.findall(r"^## `near-duplicates/(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert {*PAIRS} <= set(re.findall(r"`(\w+)`", section))
