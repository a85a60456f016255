"""Tables for papers and notes: what is in the cells is what the report shows, and no text becomes markup."""

import re
from pathlib import Path

import pytest

from beirflow.core import kinds
from beirflow.report.exports import ABSENT, as_latex, as_markdown, export_tables
from beirflow.report.pages import Cell, Column, Table
from beirflow.report.registry import functions
from report_files import ReportFiles

HOSTILE = r"a_b & 50% {x} \\input $y$ #1 ~ ^ | *z* <b> `q`"
COLUMNS = [Column("System", number=False), Column("a_1"), Column("b")]
ROWS = [
    [Cell("x_y"), Cell("0.5000", 0.5, best=True, note="▲"), Cell("0.2\n−0.1", -0.1, note="a")],
    [Cell("z"), Cell("0.1"), Cell("")],
]
TABLE = Table("t", "T", "What it holds", COLUMNS, ROWS)


def test_latex_and_markdown_have_a_row_a_system_with_its_marks() -> None:
    assert as_latex(TABLE).splitlines()[1:] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"System & a\_1 & b \\",
        r"\midrule",
        r"x\_y & \textbf{0.5000}$^{\blacktriangle}$ & 0.2 $-$0.1$^{\mathrm{a}}$ \\",
        r"z & 0.1 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert as_markdown(TABLE).splitlines() == [
        r"| System | a\_1 | b |",
        "| :--- | ---: | ---: |",
        r"| x\_y | **0.5000**▲ | 0.2 −0.1a |",
        "| z | 0.1 |  |",
    ]
    grouped = Table("t", "T", "c", COLUMNS, ROWS, groups=[("both", 2)])
    assert r" & \multicolumn{2}{c}{both} \\" in as_latex(grouped).splitlines()
    assert as_markdown(grouped).startswith(r"| System | both a\_1 | both b |")


def test_no_text_becomes_markup() -> None:
    table = Table("t", "T", "c", [Column("n", number=False)], [[Cell(HOSTILE)]])
    row = as_latex(table).splitlines()[5]
    assert not re.search(r"(?<!\\)[&%$#_]", row.removesuffix(r" \\"))
    assert not re.search(r"(?<!\\)[|*`<]", as_markdown(table).splitlines()[2][2:-2])


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    files = ReportFiles(tmp_path, ["contriever", "tas_b"], {"fever": ["fever"], "scifact": ["scifact"]}, queries=1)
    files.write()
    export_tables(shared=files.results())
    return tmp_path


def test_every_table_is_written_in_both_forms_and_for_reading(exported: Path) -> None:
    names = {path.name for path in (exported / "tables").iterdir()}
    assert names == {f"{name}.{form}" for name in functions("table") for form in ("tex", "md")} | {"datasets.bib"}
    assert all(kinds.is_derived(f"tables/{name}") for name in names)
    assert (exported / "tables/leaderboard.md").read_text().startswith("| System | mean of 2 | fever | scifact |")
    assert (exported / "tables/leaderboard.md").read_text().endswith("- Mean of 2: fever, scifact.\n")
    assert "% Mean of 2: fever, scifact.\n" in (exported / "tables/leaderboard.tex").read_text()
    assert "% Fact Checking: fever, scifact." not in (exported / "tables/tasks.tex").read_text()
    assert (exported / "tables/published.md").read_text().count("- a: ") == 1
    assert ABSENT in (exported / "tables/tasks.tex").read_text()
