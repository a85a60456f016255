"""The rows of a run from elsewhere: TREC form or JSON, plain or gzipped, or Parquet. Hostile until checked.

JSON is ``{query: {document: score}}``, alone or below a subset and a split, as in predictions of MTEB. The first bytes of the
file decide its form, not its name. A line that begins with ``#`` and is no row is a comment, as for trec_eval 10; one that is a
row, of a query such as ``#2``, is read, as by trec_eval 9.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.errors import DataError
from beirflow.core.outside_json import parse_json
from beirflow.data.sources.json_lines import short
from beirflow.data.sources.source import BYTE_ORDER_MARK, LINE_BYTES, read_blocks, starts_with, stream_of_lines

PARQUET = b"PAR1"  # first bytes of a columnar file

FIRST_BYTES = 1024  # in which JSON begins
JSON = re.compile(rb'\s*\{\s*["}]')
LARGEST = float(np.finfo(np.float32).max)

OF_MTEB = "mteb_model_meta"
"""Key of MTEB's predictions next to their subsets; these have splits, and each split a run."""

Columns: TypeAlias = tuple[Sequence[Any], Sequence[Any], Sequence[Any]]
"""Queries, documents and values of a run or judgements, unchecked."""

HEADER_START, HEADER_END = b"# ir_metadata.start", b"# ir_metadata.end"
"""The first and the last line of the header of Open Runs."""

MOST_JSON = 1 << 29  # bytes of a run in JSON, unpacked: objects of Python take some ten times as many

COLUMNS = 6
NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
INTEGER = re.compile(rb"[+-]?[0-9]{1,9}")
IN_JSON = "Parquet with query_id, doc_id and score, or JSON, {query: {document: score}}"
EXPECTED = "expected a line of a TREC run, query Q0 document rank score tag, between white space"


ROWS = pa.schema(
    [
        ("line", pa.int64()),  # number in the file, from 1
        ("query_id", pa.string()),
        ("doc_id", pa.string()),
        ("score", pa.float32()),
        ("exact", pa.float64()),  # the score of the file
        ("rank", pa.int64()),  # of the file; null if it has none
    ]
)
"""Columns of the rows of a run, whose scores are finite."""


def read_rows(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a run, some at a time, in the order of the file, with the columns of ``ROWS``.

    Raises DataError, which names the line, or the row of a Parquet file, if the file cannot be read as a run.
    """
    if is_parquet(path):
        yield from _parquet_rows(path)
        return
    with stream_of_lines(path, str(path)) as stream:
        content = stream.read(FIRST_BYTES).removeprefix(BYTE_ORDER_MARK)
        predictions = _predictions(path, content + stream.read(MOST_JSON)) if JSON.match(content) else None
    if predictions is None:
        yield from _trec_rows(path)
    else:
        yield checked_rows(str(path), *columns_of(str(path), predictions, "expected a mapping {query: {document: score}}"))


def is_parquet(path: Path) -> bool:
    """Test whether a file begins as Parquet does."""
    return starts_with(path, PARQUET)


def _trec_rows(path: Path) -> Iterator[pa.Table]:
    header = _lines_of_header(path)
    with stream_of_lines(path, str(path)) as stream:
        for _ in range(header):
            stream.readline(LINE_BYTES)
        for numbers, block in read_blocks(stream, str(path), first=1 + header):
            _check_utf8(path, numbers[0], block)
            yield _parsed(path, numbers[0], block)


def _lines_of_header(path: Path) -> int:
    """Count the lines of the header of Open Runs; 0 where there is none."""
    with stream_of_lines(path, str(path)) as stream:
        if stream.readline(LINE_BYTES).removeprefix(BYTE_ORDER_MARK).rstrip() != HEADER_START:
            return 0
        lines, line = 1, b"#"
        while line.rstrip() != HEADER_END:
            line, lines = stream.readline(LINE_BYTES), lines + 1
            if not line.startswith(b"#"):
                expected = f"expected {HEADER_END.decode()!r} before"
                raise DataError(f"{path}:{lines}: the header that line 1 begins has no end; {expected}")
    return lines


def _check_utf8(path: Path, first: int, block: bytes) -> None:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + block.count(b"\n", 0, error.start)
        raise DataError(f"{path}:{line}: expected UTF-8, found the byte 0x{block[error.start]:02x}; convert the file") from None


def _parsed(path: Path, first: int, block: bytes) -> pa.Table:
    """Return the rows of whole lines; blank lines and comments are none, and what follows the tag is ignored."""
    numbered = [(number, line.split()) for number, line in enumerate(block.split(b"\n"), first)]
    numbered = [(number, columns) for number, columns in numbered if columns and not is_comment(columns)]
    for number, columns in numbered:
        if len(columns) < COLUMNS:
            raise DataError(f"{path}:{number}: {EXPECTED}, found {len(columns)} columns: {short(b' '.join(columns).decode())}")
        if not INTEGER.fullmatch(columns[3]):
            spaces = f"; ids with white space need {IN_JSON}" if len(columns) > COLUMNS else ""
            raise DataError(
                f"{path}:{number}: the rank, column 4, must be an integer, found {short(columns[3].decode())}{spaces}"
            )
        if not NUMBER.fullmatch(columns[4]):
            raise DataError(f"{path}:{number}: the score, column 5, must be a finite number, found {short(columns[4].decode())}")
    lines = np.array([number for number, _ in numbered], np.int64)
    query_ids, doc_ids = (pa.array([columns[i] for _, columns in numbered], pa.binary()).cast(pa.string()) for i in (0, 2))
    scores = np.array([float(columns[4]) for _, columns in numbered], np.float64)
    ranks = np.array([int(columns[3]) for _, columns in numbered], np.int64)
    return rows_of(str(path), lines, query_ids, doc_ids, scores, ranks)


def is_comment(columns: Sequence[bytes]) -> bool:
    """Test whether the columns of a line are those of a comment: ``#`` begins it, and it cannot be a row."""
    is_row = len(columns) >= COLUMNS and INTEGER.fullmatch(columns[3]) and NUMBER.fullmatch(columns[4])
    return columns[0].removeprefix(BYTE_ORDER_MARK).startswith(b"#") and not is_row


def _parquet_rows(path: Path) -> Iterator[pa.Table]:
    first = 1
    try:
        with pq.ParquetFile(path) as file:
            ranked = _check_columns(path, file.schema_arrow)
            for batch in file.iter_batches(columns=["query_id", "doc_id", "score", *["rank"] * ranked]):
                lines = np.arange(first, first + batch.num_rows)
                first += batch.num_rows
                for column in batch.columns:
                    if column.null_count:
                        row = int(lines[np.argmax(column.is_null().to_numpy(zero_copy_only=False))])
                        raise DataError(f"{path}:{row}: a row of a run has no empty cell, found one")
                query_ids, doc_ids = (_in_utf8(path, lines, batch[name].cast(pa.string())) for name in ("query_id", "doc_id"))
                scores = batch["score"].cast(pa.float64()).to_numpy()
                ranks = batch["rank"].cast(pa.int64()).to_numpy() if ranked else None
                yield rows_of(str(path), lines, query_ids, doc_ids, scores, ranks)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):
            raise
        raise DataError(f"{path}: the file begins like Parquet but cannot be read ({error}); write it again") from error


def _in_utf8(path: Path, lines: np.ndarray, texts: pa.Array) -> pa.Array:
    """Return texts as they are, unless one is not UTF-8, which Arrow does not look at while it reads."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        for line, content in zip(lines, texts.cast(pa.binary()).to_pylist(), strict=True):
            _check_utf8(path, line, content)
        raise
    return texts


def _check_columns(path: Path, schema: pa.Schema) -> bool:
    """Refuse other columns than those of a run; return whether ranks are among them."""
    if len(set(schema.names)) < len(schema.names):
        raise DataError(f"{path}: a run in Parquet has each column once; found {', '.join(schema.names)}")
    types = dict(zip(schema.names, schema.types, strict=True))
    score, rank = types.get("score", pa.null()), types.get("rank", pa.int64())
    is_right = pa.types.is_integer(rank) and (pa.types.is_floating(score) or pa.types.is_integer(score))
    if not (is_right and all(_is_text(types.get(name, pa.null())) for name in ("query_id", "doc_id"))):
        columns = ", ".join(f"{key}: {kind}" for key, kind in types.items())
        expected = "query_id and doc_id, strings, score, numbers, and, if there are any, rank, integers"
        raise DataError(f"{path}: a run in Parquet has the columns {expected}; found {columns}")
    return "rank" in types


def _is_text(kind: pa.DataType) -> bool:
    """Test whether a column holds strings, which pandas writes as categories too and polars as views."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)


def rows_of(
    source: str, lines: np.ndarray, query_ids: Any, doc_ids: Any, scores: np.ndarray, ranks: np.ndarray | None = None
) -> pa.Table:
    """Return the rows of a run of n rows: ids, and scores, float64 of shape (n,); DataError for one that float32 cannot hold."""
    with np.errstate(over="ignore"):
        rounded = scores.astype(np.float32)
    for row in np.flatnonzero(~np.isfinite(rounded))[:1]:
        raise DataError(f"{source}:{lines[row]}: the score must be finite in float32, found {scores[row].item()!r}")
    return pa.table(
        [lines, query_ids, doc_ids, rounded, scores, pa.nulls(len(lines), pa.int64()) if ranks is None else ranks], schema=ROWS
    )


def of_judged_queries(source: str, parts: Iterable[pa.Table], query_ids: pa.Array) -> tuple[pa.Table, int]:
    """Return the rows of the judged queries, and the number of the others.

    ``source`` is the name of the run in messages. Raises DataError if the run is empty, or has no row of a judged query.
    """
    kept, others = [ROWS.empty_table()], 0
    for rows in parts:
        kept.append(rows.filter(pc.is_in(rows["query_id"], value_set=query_ids)))
        others += len(rows) - len(kept[-1])
    judged = pa.concat_tables(kept)
    if not len(judged) and not others:
        raise DataError(f"{source}: the run is empty, it has no row; was it written to its end?")
    if not len(judged):
        problem = f"none of its {others} rows is of a query with judgements, such as {query_ids[0].as_py()!r}"
        raise DataError(f"{source}: {problem}; does the run belong to another dataset or split?")
    return judged, others


def check_repetition(source: str, rows: pa.Table, query: np.ndarray, document: np.ndarray) -> None:
    """Raise DataError if a document comes twice for a query; both are numbers, integers of shape (rows,)."""
    pairs = query.astype(np.int64) << 32 | document
    order = np.argsort(pairs, kind="stable")
    twice = np.flatnonzero(pairs[order[1:]] == pairs[order[:-1]])
    if len(twice):
        lines = rows["line"].to_numpy()
        place = twice[np.argmin(lines[order[twice + 1]])]
        first, second = order[place], order[place + 1].item()
        problem = f"the document {rows['doc_id'][second].as_py()!r} again for the query {rows['query_id'][second].as_py()!r}"
        raise DataError(f"{source}:{lines[second]}: found {problem}, as in line {lines[first]}; keep one of them")


def queries_ranked_otherwise(rows: pa.Table, query: np.ndarray) -> int:
    """Count the queries of which the file gives a document with a higher score a later rank."""
    if rows["rank"].null_count:
        return 0
    order = np.lexsort((rows["rank"].to_numpy(), query))
    query, rank, score = query[order], rows["rank"].to_numpy()[order], rows["score"].to_numpy()[order]
    rises = (query[1:] == query[:-1]) & (rank[1:] > rank[:-1]) & (score[1:] > score[:-1])
    return len(np.unique(query[1:][rises]))


def ties_by_rounding(rows: pa.Table, query: np.ndarray) -> int:
    """Count the neighbouring scores of a query, in their order, that are equal as float32 and differ in the file."""
    order = np.lexsort((rows["exact"].to_numpy(), query))
    of_query, exact, rounded = query[order], rows["exact"].to_numpy()[order], rows["score"].to_numpy()[order]
    tied = (of_query[1:] == of_query[:-1]) & (rounded[1:] == rounded[:-1]) & (exact[1:] != exact[:-1])
    return int(tied.sum())


def ids_as_texts(source: str, values: Sequence[Any], kind: str) -> list[str]:
    """Return ids as strings; DataError for one that is neither a string nor an integer, or is empty or no Unicode."""
    kinds = {each for each in set(map(type, values)) if issubclass(each, bool) or not issubclass(each, str | Integral)}
    bad = [value for value in values if type(value) in kinds] if kinds else []
    for value in bad or _unusable(set(map(str, values))):
        raise DataError(f"{source}: the id of a {kind} must be a text that is not empty, or an integer; found {short(value)}")
    return list(map(str, values))


def _unusable(texts: Collection[str]) -> list[str]:
    """Return the texts that are empty, or have half of a surrogate pair, which UTF-8 cannot write."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [text for text in texts if any("\ud800" <= character <= "\udfff" for character in text)]
    return [text for text in texts if not text]


def _predictions(path: Path, content: bytes) -> Mapping[Any, Any]:
    """Return the run in JSON: ``{query: {document: score}}``, or below a subset and a split, as MTEB 2 writes it."""
    if len(content) >= MOST_JSON:
        todo = "it is read into memory at once; write the run in TREC form, or as Parquet"
        raise DataError(f"{path}: found a run in JSON of more than {MOST_JSON >> 20:,} MiB; {todo}")
    try:
        run = parse_json(content, object_pairs_hook=lambda pairs: _without_repetition(path, pairs))
    except ValueError as error:
        raise DataError(f"{path}: a run in JSON was expected, found no JSON ({error}); was it written to its end?") from None
    run.pop(OF_MTEB, None)
    names: list[str] = []
    while _depth(run) > 2:
        if len(run) > 1:
            problem = f"several runs, {', '.join(map(str, list(run)[:5]))}{' in ' + names[-1] if names else ''}"
            raise DataError(f"{path}: found {problem}; give one of them as a mapping, {{query: {{document: score}}}}")
        name, run = next(iter(run.items()))
        names.append(name)
    return run


def _without_repetition(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; DataError for a duplicate key, of which Python's parser would drop the first."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise DataError(f"{path}: found the key {twice!r} twice in one object of the run; keep one of them")
    return mapping


def _depth(value: Any) -> int:
    """Return the number of mappings inside each other, along their first entries that are not empty."""
    if not isinstance(value, Mapping):
        return 0
    return 1 + _depth(next((each for each in value.values() if each != {}), None))


def columns_of(source: str, given: Mapping[Any, Any], expected: str) -> Columns:
    """Return queries, documents and values of ``{query: {document: value}}``, as they are; DataError for another mapping."""
    for query, documents in given.items():
        if not isinstance(documents, Mapping):
            raise DataError(f"{source}: {expected}; found {short(documents)} for the query {query!r}")
    rows = [(query, document, value) for query, documents in given.items() for document, value in documents.items()]
    return cast(Columns, tuple(zip(*rows, strict=True))) if rows else ((), (), ())


def checked_rows(source: str, queries: Sequence[Any], documents: Sequence[Any], scores: Sequence[Any]) -> pa.Table:
    """Return the rows of a run in memory, checked."""
    query_ids, doc_ids = ids_as_texts(source, queries, "query"), ids_as_texts(source, documents, "document")
    # The kinds of some millions of scores are few.
    wrong = {kind for kind in set(map(type, scores)) if not issubclass(kind, Real) or issubclass(kind, bool)}
    bad = (place for place, score in enumerate(scores) if type(score) in wrong or not abs(score) <= LARGEST)
    if (place := next(bad, None)) is not None:
        pair = f"the document {doc_ids[place]!r} for the query {query_ids[place]!r}"
        raise DataError(f"{source}: the score of {pair} must be a finite number of float32, found {short(scores[place])}")
    return rows_of(source, np.arange(1, len(query_ids) + 1), query_ids, doc_ids, np.array(scores, np.float64))
