"""Runs of others are read row by row; what is no run is refused with its line."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.errors import DataError
from beirflow.data.sources import source
from beirflow.extensions.exchange.open_run import header_of
from beirflow.ranking import run_rows
from beirflow.ranking.run_rows import read_rows

RIGHT = b"q1 Q0 d1 1 2.5 tag\nq1\tQ0\td2\t2\t-1e-3\ttag\n\nq2 0 d\xc3\xa9\xc2\xa0x 0 .5 other\n"
ROWS = [(1, "q1", "d1", 2.5, 1), (2, "q1", "d2", float(np.float32(-1e-3)), 2), (4, "q2", "dé\xa0x", 0.5, 0)]


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    rows = pa.concat_tables(read_rows(path))
    assert rows["score"].type == pa.float32()
    return list(zip(*(column.to_pylist() for column in rows.drop_columns("exact")), strict=True))


def written(folder: Path, content: bytes, name: str = "run.trec") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def parquet(folder: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "run.parquet")
    return folder / "run.parquet"


@pytest.mark.parametrize("content", [RIGHT, RIGHT[:-1], b"\xef\xbb\xbf" + RIGHT, RIGHT.replace(b"\n", b" \r\n")])
@pytest.mark.parametrize("packed", [True, False])
def test_a_trec_run_is_read_plain_and_gzipped_whatever_its_name(tmp_path: Path, content: bytes, packed: bool) -> None:
    assert rows_of(written(tmp_path, gzip.compress(content) if packed else content, "run.txt")) == ROWS


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_blocks_change_nothing_and_lines_behind_the_header_of_open_runs_keep_their_numbers(
    tmp_path: Path, packed: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    assert rows_of(written(tmp_path, RIGHT)) == ROWS
    content = header_of({"tag": "x\ny", "q": "a Q0 b 1 1.0 c"}).encode() + RIGHT
    found = rows_of(written(tmp_path, gzip.compress(content) if packed else content))
    lines = content[: -len(RIGHT)].count(b"\n")
    assert found == [(line + lines, *row) for line, *row in ROWS]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "form", ["{}", '\ufeff{{"mteb_model_meta": {{}}, "default": {{"test": {}}}}}'], ids=["plain", "as MTEB writes it"]
)
def test_predictions_in_json_are_a_run(tmp_path: Path, packed: bool, form: str) -> None:
    content = form.format('{"q1": {"d1": 2.5, "d2": -1e-3}, "q2": {"d é": 1}, "q3": {}}').encode()
    found = rows_of(written(tmp_path, gzip.compress(content) if packed else content))
    assert found == [(1, "q1", "d1", 2.5, None), (2, "q1", "d2", ROWS[1][3], None), (3, "q2", "d é", 1.0, None)]
    with pytest.raises(DataError, match="a run in JSON was expected, found no JSON"):
        rows_of(written(tmp_path, content[:-1]))


def test_json_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rows, "MOST_JSON", 1 << 20)
    bomb = gzip.compress(b'{"q1": {"d1": 1' + bytes([32]) * (1 << 24) + b"}}")
    with pytest.raises(DataError, match=r"found a run in JSON of more than 1 MiB; .* TREC form, or as Parquet"):
        rows_of(written(tmp_path, bomb))


def test_a_header_without_an_end_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"run.trec:3: the header that line 1 begins has no end; expected '# ir_metadata.end'"):
        rows_of(written(tmp_path, b"# ir_metadata.start\n# tag: x\n" + RIGHT))


@pytest.mark.parametrize("packed", [True, False])
def test_comments_and_what_follows_the_tag_are_ignored_as_by_trec_eval_10(tmp_path: Path, packed: bool) -> None:
    content = b"# tag: x\n#made by hand on the 1st of May\n" + RIGHT.replace(b" tag\n", b" tag k1=0.9 #3 more\n") + b"# end\n"
    found = rows_of(written(tmp_path, gzip.compress(content) if packed else content))
    assert found == [(line + 2, *row) for line, *row in ROWS]
    # Rows of a query whose id begins so are rows, as for trec_eval 9.
    assert rows_of(written(tmp_path, b"#2 Q0 d1 1 2.5 tag\n# 2 Q0 d1 1 2.5 tag\n")) == [(1, "#2", "d1", 2.5, 1)]
    with pytest.raises(DataError, match=r"run.trec:1: expected a line of a TREC run.*found 3 columns: 'tag: x #'"):
        rows_of(written(tmp_path, b"tag: x #\n" + RIGHT))


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"q1 Q0 d3 3 1.0", "found 5 columns: 'q1 Q0 d3 3 1.0'"),
        (b"q 1 Q0 d3 3 1.0 tag", "the rank, column 4, must be an integer, found 'd3'; ids with white space need Parquet"),
        (b"q1,Q0,d3,3,1.0,tag", "found 1 columns"),
        (b"q1 Q0 d3 first 1.0 tag", "the rank, column 4, must be an integer, found 'first'"),
        (b"q1 Q0 d3 3 nan tag", "the score, column 5, must be a finite number, found 'nan'"),
        (b"q1 Q0 d3 3 inf tag", "finite number, found 'inf'"),
        (b"q1 Q0 d3 3 1_0 tag", "finite number, found '1_0'"),
        (b"q1 Q0 d3 3 0x10 tag", "finite number, found '0x10'"),
        (b"q1 Q0 d3 3 1,5 tag", "finite number, found '1,5'"),
        (b"q1 Q0 d3 3 1e39 tag", "must be finite in float32, found 1e+39"),
        (b"q1 Q0 d\xff 3 1.0 tag", "expected UTF-8, found the byte 0xff"),
        (b'{"query": "q1"}', "found 2 columns"),
        (b"q1 Q0 " + b"d" * 200 + b" 3 1.0", " … "),
    ],
    ids=str,
)
@pytest.mark.parametrize("packed", [True, False])
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, bad: bytes, says: str, packed: bool) -> None:
    content = RIGHT + b"\n" + bad + b"\n" + RIGHT
    path = written(tmp_path, gzip.compress(content) if packed else content)
    with pytest.raises(DataError) as caught:
        rows_of(path)
    assert str(caught.value).startswith(f"{path}:6: ")
    assert says in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 250


def test_a_file_without_line_feeds_does_not_fill_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(source, "LINE_BYTES", 500)
    path = written(tmp_path, gzip.compress(b"q1 Q0 d1 1 2.5 tag\n" + b"x" * 100_000))
    with pytest.raises(DataError, match=r"run.trec:2: .*expected lines of less than 500 bytes"):
        rows_of(path)


@pytest.mark.parametrize("damage", [lambda packed: packed[:-12], lambda packed: packed[:20] + b"\0\xff\0" + packed[23:]])
def test_a_gzip_that_is_cut_or_damaged_is_refused(tmp_path: Path, damage: Any) -> None:
    path = written(tmp_path, damage(gzip.compress(RIGHT * 100)))
    with pytest.raises(DataError, match=r"the file is damaged|expected"):
        rows_of(path)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64()])
@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_is_read_with_and_without_ranks(tmp_path: Path, kind: pa.DataType, text: pa.DataType) -> None:
    ids = [pa.array(names) for names in (["q", "q"], ["d1", "d2"])]
    query, doc = (each.dictionary_encode() if pa.types.is_dictionary(text) else each.cast(text) for each in ids)
    columns = {"score": pa.array([3, 2], kind), "doc_id": doc, "query_id": query}
    assert rows_of(parquet(tmp_path, **columns)) == [(1, "q", "d1", 3.0, None), (2, "q", "d2", 2.0, None)]
    assert rows_of(parquet(tmp_path, **columns, rank=[1, 2], more=["x", "y"])) == [(1, "q", "d1", 3.0, 1), (2, "q", "d2", 2.0, 2)]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"query_id": ["q"], "doc_id": ["d"]}, "found query_id: string, doc_id: string"),
        ({"query_id": [1], "doc_id": ["d"], "score": [1.0]}, "found query_id: int64"),
        ({"query_id": ["q"], "doc_id": ["d"], "score": ["1"]}, "score: string"),
        ({"query_id": ["q"], "doc_id": ["d"], "score": [1.0], "rank": [1.5]}, "rank: double"),
        ({"query_id": ["q", "q"], "doc_id": ["d", None], "score": [1.0, 2.0]}, ":2: a row of a run has no empty cell"),
        ({"query_id": ["q", "q"], "doc_id": ["d", "e"], "score": [1.0, float("nan")]}, ":2: the score must be finite"),
    ],
    ids=str,
)
def test_parquet_that_is_no_run_is_refused(tmp_path: Path, columns: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=r"run\.parquet:") as caught:
        rows_of(parquet(tmp_path, **columns))
    assert says in str(caught.value)


def test_parquet_that_is_cut_or_has_a_column_twice_is_refused(tmp_path: Path) -> None:
    columns = [pa.array(["a"]), pa.array(["a"]), pa.array([1.0]), pa.array([2.0])]
    pq.write_table(pa.Table.from_arrays(columns, ["query_id", "doc_id", "score", "score"]), tmp_path / "run.parquet")
    with pytest.raises(DataError, match="a run in Parquet has each column once; found query_id, doc_id, score, score"):
        rows_of(tmp_path / "run.parquet")
    path = parquet(tmp_path, query_id=["q"] * 100, doc_id=["d"] * 100, score=[1.0] * 100)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="begins like Parquet but cannot be read"):
        rows_of(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("name", ["query_id", "doc_id"])
def test_an_id_of_parquet_that_is_not_utf_8_is_refused_with_its_row(tmp_path: Path, name: str, kind: pa.DataType) -> None:
    offsets, content = pa.array([0, 2, 6], pa.int32()).buffers()[1], pa.py_buffer(b"ok\xff\xfed1")
    ids = pa.Array.from_buffers(pa.string(), 2, [None, offsets, content])
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), ids) if pa.types.is_dictionary(kind) else ids.cast(kind)
    path = parquet(tmp_path, **({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]} | {name: odd}))
    with pytest.raises(DataError, match=r"run\.parquet:2: expected UTF-8, found the byte 0xff"):
        rows_of(path)
