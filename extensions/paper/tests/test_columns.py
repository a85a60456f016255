"""The documentation names every column of the files."""

import re
from pathlib import Path

from beirflow.extensions.paper import bias, corpus_tables, efficiency, findings, overlap, score_tables

COLUMNS = {
    "table-1.csv": (*corpus_tables.STATISTICS, *corpus_tables.BINS),
    "table-2.csv": score_tables.COUNTS,
    "claims.csv": findings.COLUMNS,
    "similarities.csv": score_tables.SIMILARITIES,
    "bias.csv": bias.COLUMNS,
    "efficiency.csv": efficiency.COLUMNS,
    "overlap.csv": overlap.COLUMNS,
}


def test_the_documentation_names_every_column_of_the_files() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    sections = re.findall(r"^## `paper/(.*?)`(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    named = {path: set(re.findall(r"`(\w+)`", section)) for path, section in sections}
    for path, columns in COLUMNS.items():
        assert {*columns} <= named[path], path
