"""Expansions that are given as files: every document is in one line, and every line is as expected."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beirflow.core.errors import DataError
from beirflow.core.layout import DOCUMENTS
from beirflow.families.expansions import given as given_module
from beirflow.families.expansions.settings import Expansion, WordWeights, WrittenQueries
from lexical_results import LexicalResults

CORPUS = [(f"d{i}", "title" if i % 2 else "", f"text {i}") for i in range(5)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> LexicalResults:
    """A corpus of two chunks, prepared."""
    return LexicalResults(tmp_path_factory.mktemp("given"), CORPUS, {"q": "text"}, size=3)


def lines_of(entries: Mapping[str, Any], key: str) -> list[str]:
    return [json.dumps({"id": doc_id, key: value}) for doc_id, value in entries.items()]


QUERIES = lines_of({f"d{i}": [f"query {i}", " ", "", "\u6771 what"] for i in range(5)}, "queries")
WEIGHTS = lines_of({f"d{i}": {"text": 0.25 * i, "u.s.": 1} for i in range(5)}, "weights")


def given_in(source: Path, kind: str) -> Expansion:
    return (WrittenQueries if kind == "queries" else WordWeights)(path=str(source))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["queries", "weights"])
def test_what_is_given_stands_in_the_order_of_the_chunk(made: LexicalResults, tmp_path: Path, kind: str, packed: bool) -> None:
    source = tmp_path / f"x.jsonl{'.gz' if packed else ''}"
    content = "\n".join(["", *reversed(QUERIES if kind == "queries" else WEIGHTS), ""]).encode()
    source.write_bytes(gzip.compress(content) if packed else content)
    given = given_in(source, kind)
    rows = [row for chunk in range(2) for row in pq.read_table(made.read_given(given, source, chunk)).to_pylist()]
    assert [row["doc_id"] for row in rows] == pq.read_table(made.path(DOCUMENTS))["doc_id"].to_pylist()
    for row in rows:
        number = int(row["doc_id"][1:])
        if kind == "queries":
            assert row["queries"] == [f"query {number}", "\u6771 what"]
        else:
            assert (row["words"], row["weights"]) == (["text", "u.s."], [0.25 * number, 1.0])


def test_windows_of_rows_change_nothing_and_nothing_is_left_of_a_file_that_is_refused(
    made: LexicalResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("\n".join(reversed(QUERIES)))
    given = given_in(source, "queries")
    whole = pq.read_table(path := made.read_given(given, source, 0))
    monkeypatch.setattr(given_module, "WINDOW_ROWS", 2)
    assert pq.read_table(made.read_given(given, source, 0)).equals(whole)
    assert pq.ParquetFile(path).num_row_groups == 2
    source.write_text("\n".join(QUERIES[:-1]))
    with pytest.raises(DataError, match="have no line"):
        [made.read_given(given, source, chunk) for chunk in range(2)]
    assert not list(Path(path).parent.glob(".*"))


@pytest.mark.parametrize(
    ("kind", "lines", "said"),
    [
        ("queries", QUERIES[:-1], r"x.jsonl: 1 of the \d documents of chunk \d have no line, first 'd4'"),
        ("queries", [*QUERIES, '{"id": "d9", "queries": []}'], "x.jsonl:6: the corpus has no document 'd9'"),
        ("queries", [QUERIES[2], *QUERIES], "x.jsonl:4: the document 'd2' is in another line already"),
        ("queries", [*QUERIES, "{"], "x.jsonl:6: expected a JSON object on one line"),
        ("queries", ['{"id": 3, "queries": []}'], "x.jsonl:1: expected an object with a non-empty string 'id'"),
        ("queries", ['{"id": "d0", "queries": "one"}'], "x.jsonl:1: expected 'queries', a list of strings, found 'one'"),
        ("weights", ['{"id": "d0", "weights": {"a": -0.5}}'], "x.jsonl:1: the weight of 'a' is -0.5, expected a finite number"),
        ("weights", ['{"id": "d0", "weights": {"a": 1e999}}'], "x.jsonl:1: "),
        ("weights", ['{"id": "d0", "weights": ["a"]}'], "x.jsonl:1: expected 'weights', an object with a number"),
    ],
)
def test_a_line_that_is_none_is_refused_by_name_and_number(
    made: LexicalResults, tmp_path: Path, kind: str, lines: list[str], said: str
) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("\n".join(lines))
    given = given_in(source, kind)
    with pytest.raises(DataError, match=said):
        [made.read_given(given, source, chunk) for chunk in range(2)]
