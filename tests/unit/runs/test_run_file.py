"""A TREC run holds what the Parquet run holds, or is not written."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import Job, write_record
from beirflow.runs.run_file import RUN, WHITESPACE, write_trec
from hypothesis import given
from hypothesis import strategies as st

Row = tuple[str, str, float, int]

ROWS: list[Row] = [("q1", "d2", 1.5, 1), ("q1", "d10", -0.25, 2), ("frage-ü", "doc/é", 0.1, 1), ("q9", "Ж", 3e-20, 1)]


def write_run(path: Path, rows: list[Row], ties: str = "descending") -> Path:
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    pq.write_table(
        pa.Table.from_arrays([pa.array(column, kind.type) for column, kind in zip(columns, RUN, strict=True)], schema=RUN), path
    )
    job = Job(path.parent)
    facts = {"system": "contriever", "ties": ties}
    write_record(path.with_suffix(".json"), job, inputs={}, outputs={path: file_digest(path)}, **facts)
    return path


def read_trec(path: Path) -> list[tuple[str, ...]]:
    """A TREC run as any other tool reads it: columns separated by white space."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [tuple(line.split()) for line in lines]


def convert(folder: Path, rows: list[Row], name: str = "run.trec.gz", ties: str = "descending") -> Path:
    run = write_run(folder / "run.parquet", rows, ties)
    write_trec(run_path=str(run), record_path=str(run.with_suffix(".json")), output_path=str(folder / name), tag="contriever")
    return folder / name


def test_a_line_is_query_q0_document_rank_score_tag(tmp_path: Path) -> None:
    text = gzip.decompress(convert(tmp_path, ROWS[:2]).read_bytes()).decode()
    assert text == "q1 Q0 d2 1 1.5 contriever\nq1 Q0 d10 2 -0.25 contriever\n"


def test_a_round_trip_keeps_every_row_and_every_bit_of_the_scores(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500)).astype(np.float32)
    rows = ROWS + [(f"q{i // 7}", f"d{i}", float(value), i % 7 + 1) for i, value in enumerate(values)]
    found = [(query, doc, np.float32(score), int(rank)) for query, _, doc, rank, score, _ in read_trec(convert(tmp_path, rows))]
    assert found == [(query, doc, np.float32(score), rank) for query, doc, score, rank in rows]


def test_another_order_of_ties_than_trec_evals_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = convert(tmp_path, ROWS).read_bytes()
    assert caplog.text == ""
    assert convert(tmp_path, ROWS, ties="ascending").read_bytes() == expected
    assert "run.trec.gz: ids of tied documents are ascending, but trec_eval sorts them descending" in caplog.text


def test_an_empty_run_gives_an_empty_file(tmp_path: Path) -> None:
    assert read_trec(convert(tmp_path, [])) == []


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\u00a0", "\u3000"])
@pytest.mark.parametrize("column", [0, 1])
def test_an_id_with_whitespace_is_refused_and_nothing_is_written(tmp_path: Path, space: str, column: int) -> None:
    bad = f"two{space}words"
    row: Row = (bad, "d", 1.0, 1) if column == 0 else ("q", bad, 1.0, 1)
    with pytest.raises(DataError, match=r"run\.parquet.*the id 'two.*words'.*use the Parquet file"):
        convert(tmp_path, [*ROWS, row])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "run.parquet"]


def test_an_existing_file_survives_a_run_that_is_refused(tmp_path: Path) -> None:
    before = convert(tmp_path, ROWS).read_bytes()
    with pytest.raises(DataError):
        convert(tmp_path, [("q", "a b", 1.0, 1)])
    assert (tmp_path / "run.trec.gz").read_bytes() == before


def test_the_bytes_depend_on_the_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = convert(tmp_path, ROWS).read_bytes()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)  # what gzip would write into the header
    assert convert(tmp_path, ROWS, "another-name.trec.gz").read_bytes() == first


@given(st.text(max_size=5))
def test_whitespace_is_what_splits_a_line(text: str) -> None:
    assert (WHITESPACE.search(text) is not None) == (text != "" and text.split() != [text])
