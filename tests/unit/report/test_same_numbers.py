"""The page, its exports and the CSV behind them show the same numbers, and the page those of the one that it replaced."""

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest

from beirflow.core.csv_files import read_named_csv
from beirflow.report.exports import ABSENT, export_tables
from beirflow.report.registry import functions, registered
from beirflow.report.results import Results
from report_files import ReportFiles

BEFORE = Path(__file__).parents[2] / "data/report_numbers.json"
"""By table, text and value of every number on the page that commit 590536f4 made of the same files, without the catalogue's."""

Numbers = list[list[tuple[str, str]]]  # text and value of each number, by row

CSV = {
    "significance": ("significance.csv", ["difference", "low", "high", "p_holm", "effect_size", "p", "detectable", "queries"]),
    "uncertainty": ("uncertainty.csv", ["mean", "low", "rank", "rank_low", "first", "detectable"]),
    "cost": ("cost.csv", ["documents", "documents_per_second", "index_seconds", "search_seconds", "seconds"]),
}
"""By table that shows a whole CSV, the columns that it shows as they are, from left to right."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    rows = {"forums": ["forums-a", "forums-b"], "scifact": ["scifact"]}
    files = ReportFiles(tmp_path_factory.mktemp("results"), ["contriever", "tas-b"], rows, queries=2)
    files.write()
    export_tables(shared=files.results())
    return files


def on_the_page(files: ReportFiles) -> dict[str, Numbers]:
    """Read the numbers of every table by its name."""
    page = (files.folder / "report.html").read_text(encoding="utf-8")
    tables = re.findall(r'<caption><span id="([^"]+)-table(|-\d)">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    return {f"{name}{number}": [numbers_in(row) for row in body.split("</tr>")[:-1]] for name, number, body in tables}


def numbers_in(row: str) -> list[tuple[str, str]]:
    cells = re.findall(r'data-value="([^"]+)"[^>]*>(.*?)</td>', row, re.DOTALL)
    texts = [(" ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split()), value) for value, text in cells]
    return [(text, value) for text, value in texts if text]  # a drawn one is beside its number


def digits(text: str) -> set[str]:
    """Return the numbers in a cell without their signs, which LaTeX writes in its own way."""
    return set(re.findall(r"\d[\d.,]*", text))


def test_the_page_has_every_number_of_the_one_before_in_the_same_table(files: ReportFiles) -> None:
    page = on_the_page(files)
    for name, numbers in json.loads(BEFORE.read_text(encoding="utf-8")).items():
        here = [pair for row in page[name] for pair in row]
        for number in numbers:
            text, _, value = number.rpartition(" ")
            assert any(shown.startswith(text) and float(of) == float(value) for shown, of in here), (name, number)
        assert not Counter(number.rpartition(" ")[2] for number in numbers) - Counter(value for _, value in here), name


@pytest.mark.parametrize("name", functions("table"))
def test_the_page_latex_and_markdown_have_the_same_rows(files: ReportFiles, name: str) -> None:
    text, tex = ((files.folder / f"tables/{name}.{kind}").read_text(encoding="utf-8") for kind in ("md", "tex"))
    page = on_the_page(files)
    if ABSENT in text:
        assert ABSENT in tex
        assert page.get(name, []) == []
        return
    lines = [line.replace("\\", "").replace("*", "")[2:-2].split(" | ") for line in text.splitlines() if line.startswith("|")]
    in_tex = [line.removesuffix(r" \\").split(" & ") for line in tex.split(r"\midrule")[1].splitlines() if line.endswith(r"\\")]
    assert [list(map(digits, row)) for row in lines[2:]] == [list(map(digits, row)) for row in in_tex]
    if name != "recall":  # on the page it is the second leaderboard
        for row, shown in zip(lines[2:], page[name], strict=True):
            numbers = [digits(cell) for kind, cell in zip(lines[1], row, strict=True) if kind == "---:" and digits(cell)]
            assert all(each <= digits(text) for each, (text, _) in zip(numbers, shown, strict=True))


@pytest.mark.parametrize("name", functions("table"))
def test_a_notebook_gets_the_tables_of_the_jobs(files: ReportFiles, name: str) -> None:
    make, results = registered("table")[name], Results(files.folder, baseline=files.systems[0])
    assert list(make(results)) == list(make(files.results()))


@pytest.mark.parametrize("name", CSV)
def test_a_table_of_a_csv_has_its_numbers(files: ReportFiles, name: str) -> None:
    path, columns = CSV[name]
    expected = read_named_csv(str(files.folder / path))[columns].to_numpy().tolist()
    for row, values in zip(on_the_page(files)[name], expected, strict=True):
        found = iter([float(value) for _, value in row])
        assert [value for value in values if value == value and value not in found] == []


def test_the_leaderboard_is_the_summary(files: ReportFiles) -> None:
    summary = read_named_csv(str(files.folder / "summary.csv"))
    scores = sorted(summary["NDCG@10"])
    assert sorted(float(value) for row in on_the_page(files)["leaderboard"] for _, value in row) == scores
