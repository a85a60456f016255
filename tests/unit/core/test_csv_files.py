"""A table in a CSV file: every cell stays one cell for Python and pandas, and no text is a formula for a spreadsheet."""

import csv
from pathlib import Path

import pandas as pd

from beirflow.core.csv_files import csv_text, write_csv

ODD = ["return\rhere", "feed\nhere", "both\r\nhere", 'a "quote"', "a, b", "", "é\u2028", "\rfirst", "last\r"]


def test_every_cell_is_one_cell_again(tmp_path: Path) -> None:
    write_csv(pd.DataFrame({"name": ODD, "value": range(len(ODD))}), tmp_path / "odd.csv")
    expected = [text if text != "\rfirst" else "'\rfirst" for text in ODD]
    assert pd.read_csv(tmp_path / "odd.csv", keep_default_na=False)["name"].tolist() == expected
    with (tmp_path / "odd.csv").open(newline="", encoding="utf-8") as stream:
        assert [row["name"] for row in csv.DictReader(stream)] == expected


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "--", "-"]
OTHERS = ["-0.5", "+1", "-1e-05", "-.5", "-inf", "a=b", "1-2", "'=quoted"]


def test_a_text_that_a_spreadsheet_would_compute_follows_an_apostrophe_and_numbers_and_other_texts_stay() -> None:
    rows = csv.DictReader(csv_text(pd.DataFrame({"value": [*FORMULAS, *OTHERS]})).splitlines(keepends=True))
    assert [row["value"] for row in rows] == [*(f"'{text}" for text in FORMULAS), *OTHERS]


def test_a_table_without_odd_texts_is_what_pandas_writes() -> None:
    table = pd.DataFrame(
        {
            "text": ["a", None, "b"],
            "float": [-0.1, float("nan"), 1e-20],
            "int": [1, 2, 3],
            "object": pd.Series([1, None, "x"], dtype=object),
            "whole": pd.Series([1, None, -3], dtype=object),
            "nullable": pd.array([1, None, -3], dtype="Int64"),
            "bool": [True, False, True],
        }
    )
    for each in (table, table[:0]):
        assert csv_text(each) == each.to_csv(index=False, lineterminator="\n")
