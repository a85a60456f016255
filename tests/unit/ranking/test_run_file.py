"""A TREC run holds what the Parquet run holds, or is not written."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steps
from beir_writer import write_corpus_record
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import QUERIES
from beirflow.core.records import Job, write_record
from beirflow.ranking.run_file import RUN, Columns, Run, write_trec

Row = tuple[str, str, float, int]

ROWS: list[Row] = [("q1", "d2", 1.5, 1), ("q1", "d10", -0.25, 2), ("frage-ü", "doc/é", 0.1, 1), ("q9", "Ж", 3e-20, 1)]


def write_queries(folder: Path, query_ids: list[str]) -> Path:
    """The judged queries of a corpus, with its record."""
    path = folder / QUERIES(dataset="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"query_id": pa.array(sorted(query_ids, key=str.encode), pa.string())}), path)
    write_corpus_record(path.parent, folder)
    return path


def write_run(path: Path, rows: list[Row], without: Sequence[str] = ()) -> Path:
    """A run and its record; without: judged queries of which it has no document."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    pq.write_table(pa.table(columns, schema=RUN), path)
    queries = write_queries(path.parent, [*{row[0] for row in rows}, *without])
    digests = {"inputs": {queries: file_digest(queries)}, "outputs": {path: file_digest(path)}}
    write_record(path.with_suffix(".json"), Job(path.parent), **digests, system="contriever", dataset="small")
    return path


def write(run: Path, output: Path) -> Path:
    """The run in TREC form."""
    queries = run.parent / QUERIES(dataset="small")
    paths = {"run_path": run, "record_path": run.with_suffix(".json"), "queries_path": queries, "output_path": output}
    write_trec(**{key: str(path) for key, path in paths.items()}, tag="contriever")
    return output


def read_trec(path: Path) -> list[tuple[str, ...]]:
    """A TREC run as any other tool reads it: columns separated by white space."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [tuple(line.split()) for line in lines]


def convert(folder: Path, rows: list[Row], name: str = "run.trec.gz", without: Sequence[str] = ()) -> Path:
    return write(write_run(folder / "run.parquet", rows, without), folder / name)


def test_a_line_is_query_q0_document_rank_score_tag(tmp_path: Path) -> None:
    text = gzip.decompress(convert(tmp_path, ROWS[:2]).read_bytes()).decode()
    assert text == "q1 Q0 d2 1 1.5 contriever\nq1 Q0 d10 2 -0.25 contriever\n"


def test_a_round_trip_keeps_every_row_and_every_bit_of_the_scores(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500)).astype(np.float32)
    rows = ROWS + [(f"q{i // 7}", f"d{i}", float(value), i % 7 + 1) for i, value in enumerate(values)]
    found = [(query, doc, np.float32(score), int(rank)) for query, _, doc, rank, score, _ in read_trec(convert(tmp_path, rows))]
    assert found == [(query, doc, np.float32(score), rank) for query, doc, score, rank in rows]
    assert read_trec(convert(tmp_path, [])) == []


def test_judged_queries_without_a_line_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = convert(tmp_path, ROWS).read_bytes()
    assert caplog.text == ""
    assert convert(tmp_path, ROWS, without=["q7", "q10"]).read_bytes() == expected
    assert "run.trec.gz: 2 judged queries have no line, because the system returned nothing for them: q10, q7;" in caplog.text
    assert "with trec_eval by its option -c" in caplog.text


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([], "no query has a document"),
        ([[("a", 0.0), ("a", 0.0), ("b", 0.0)]], "all documents of a query have the same score"),
        ([[("a", 2.0), ("a", 2.0)], [("b", 1.0), ("b", 1.0)]], "all documents of a query have the same score"),
        ([[("a", 2.0), ("a", 1.0)], [("b", 1.0), ("b", 1.0)]], None),
        ([[("a", 2.0), ("b", 2.0)]], None),
    ],
)
def test_a_run_that_ranks_nothing_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, parts: list[list[tuple[str, float]]], says: str | None
) -> None:
    def columns() -> Iterator[Columns]:
        for part in parts:
            queries, scores = zip(*part, strict=True)
            ranks = np.arange(1, len(part) + 1, dtype=np.int32)
            yield pa.array(queries), pa.array([f"d{rank}" for rank in ranks]), np.array(scores, np.float32), ranks

    steps.write(Run, tmp_path / "run.parquet", columns())
    assert pq.read_table(tmp_path / "run.parquet").num_rows == sum(map(len, parts))
    assert (says in caplog.text) if says else caplog.text == ""


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\u00a0", "\u3000", "\0"])
@pytest.mark.parametrize("column", [0, 1])
def test_an_id_with_whitespace_or_nul_is_refused_and_nothing_is_written(tmp_path: Path, space: str, column: int) -> None:
    bad = f"two{space}words"
    row: Row = (bad, "d", 1.0, 1) if column == 0 else ("q", bad, 1.0, 1)
    before = convert(tmp_path, ROWS, "before.trec.gz").read_bytes()
    for name in ("before.trec.gz", "new.trec.gz"):
        with pytest.raises(DataError, match=r"run\.parquet.*the id 'two.*words'.*use the Parquet file"):
            convert(tmp_path, [*ROWS, row], name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before.trec.gz", "corpora", "run.json", "run.parquet"]
    assert (tmp_path / "before.trec.gz").read_bytes() == before


def test_a_query_whose_lines_trec_eval_10_would_take_for_comments_is_refused(tmp_path: Path) -> None:
    assert convert(tmp_path, [("q#1", "#d", 1.0, 1)], "inside.trec.gz").is_file()
    with pytest.raises(DataError, match=r"cannot hold the query '#2'.*is a comment.*use the Parquet file"):
        convert(tmp_path, [("#2", "d", 1.0, 1)], "comment.trec.gz")
    assert not (tmp_path / "comment.trec.gz").exists()


def test_the_bytes_depend_on_the_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = convert(tmp_path, ROWS).read_bytes()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)  # what gzip would write into the header
    assert convert(tmp_path, ROWS, "another-name.trec.gz").read_bytes() == first
