"""Expansions that are given as files: every document is in one line, and every line is as expected."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from beirflow.core.errors import DataError
from beirflow.core.layout import DOCUMENTS, EXPANSION
from beirflow.families.expansions import given as given_module
from beirflow.families.expansions.files import write_expansion
from beirflow.families.expansions.given import RowsById, read_given
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


def read(made: LexicalResults, source: Path, given: Expansion, chunk: int = 0) -> Path:
    path = made.path(EXPANSION, expansion=given.name, chunk=chunk)
    read_given(
        given=given,
        source_path=str(source),
        documents_path=made.path(DOCUMENTS),
        chunk=chunk,
        output_path=path,
        job=made.job("read_given"),
    )
    return Path(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["queries", "weights"])
def test_what_is_given_stands_in_the_order_of_the_chunk(made: LexicalResults, tmp_path: Path, kind: str, packed: bool) -> None:
    source = tmp_path / f"x.jsonl{'.gz' if packed else ''}"
    content = "\n".join(["", *reversed(QUERIES if kind == "queries" else WEIGHTS), ""]).encode()
    source.write_bytes(gzip.compress(content) if packed else content)
    given = given_in(source, kind)
    rows = [row for chunk in range(2) for row in pq.read_table(read(made, source, given, chunk)).to_pylist()]
    assert [row["doc_id"] for row in rows] == pq.read_table(made.path(DOCUMENTS))["doc_id"].to_pylist()
    for row in rows:
        number = int(row["doc_id"][1:])
        if kind == "queries":
            assert row["queries"] == [f"query {number}", "\u6771 what"]
        else:
            assert (row["words"], row["weights"]) == (["text", "u.s."], [0.25 * number, 1.0])


@pytest.mark.parametrize("kind", ["queries", "weights"])
def test_a_window_of_rows_is_in_memory_at_a_time_and_nothing_is_left(
    made: LexicalResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    lines = QUERIES if kind == "queries" else WEIGHTS
    source = tmp_path / "x.jsonl"
    source.write_text("\n".join(reversed(lines)))
    given = given_in(source, kind)
    whole = pq.read_table(path := read(made, source, given))
    sizes: list[int] = []

    def counted(windows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        for window in windows:
            sizes.append(len(window[0]))
            yield window

    monkeypatch.setattr(given_module, "WINDOW_ROWS", 2)
    monkeypatch.setattr(
        given_module, "write_expansion", lambda path, kind, windows: write_expansion(path, kind, counted(windows))
    )
    assert pq.read_table(read(made, source, given)).equals(whole)
    assert (max(sizes), sum(sizes)) == (2, whole.num_rows)
    source.write_text("\n".join(lines[:-1]))
    with pytest.raises(DataError, match="have no line"):
        list(map(partial(read, made, source, given), range(2)))
    assert not list(path.parent.glob(".*"))


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
        list(map(partial(read, made, source, given), range(2)))


IDS = pa.array([f"d{i * 7919 % 1000}" for i in range(900)] + ["", "\u6771", "d 1"])


NAMES = pa.array(["d7", "", "d999", "nowhere", "d7", "\u6771", "d 1", "d1 ", "d\0"])


@pytest.mark.parametrize("hashes", [None, 1, 7])
def test_rows_are_those_that_arrow_finds(monkeypatch: pytest.MonkeyPatch, hashes: int | None) -> None:
    if hashes is not None:
        monkeypatch.setattr(
            given_module, "_hashes", lambda names: np.array([len(name) % hashes for name in names.to_pylist()], np.uint64)
        )
    monkeypatch.setattr(given_module, "BLOCK_IDS", 100)
    expected = pc.fill_null(pc.index_in(NAMES, value_set=IDS), -1).to_pylist()
    rows = RowsById(IDS)
    assert rows.find(NAMES).tolist() == expected
    assert rows.find(IDS).tolist() == list(range(len(IDS)))
    assert rows.find(NAMES[:0]).tolist() == []
    assert RowsById(IDS[:0]).find(NAMES).tolist() == [-1] * len(NAMES)
