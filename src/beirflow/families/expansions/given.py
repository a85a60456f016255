"""Given expansions: JSONL with an id and queries, or an id and weights by word."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.errors import DataError
from beirflow.core.progress import Progress
from beirflow.core.verified import unchanged
from beirflow.data.corpus_files import Documents
from beirflow.data.sources.json_lines import lines_in, read_value, short
from beirflow.data.sources.source import read_blocks, stream_of_lines
from beirflow.families.expansions.files import WINDOW_ROWS, ExpansionFile
from beirflow.families.expansions.settings import Expansion
from beirflow.ranking.searched import EXPANSION_SOURCE, read_every_id

EXPECTED = {"queries": "'queries', a list of strings", "weights": "'weights', an object with a number from 0 for each word"}


@step(ExpansionFile, stage="expand")
def read_given(documents: Documents, given: Expansion, source_path: str, chunk: int) -> Made:
    """Read the expansion of one chunk from a JSONL file, plain or gzipped.

    Raises DataError if a line is not as expected, names a document that the corpus does not have, or one that another line named
    before; if a document of the chunk is in no line; or if the file changed while it was read.
    """
    ids, sizes = read_every_id(str(documents.path))
    own_ids = ids.slice(sum(sizes[:chunk]), sizes[chunk])
    with unchanged(source_path) as digest:
        kept, added = _read_lines(source_path, given.kind, ids, own_ids)
    missing = [row for row, line in enumerate(kept) if line is None]
    if missing:
        problem = f"{len(missing):,} of the {len(kept):,} documents of chunk {chunk} have no line, first"
        todo = "an empty list or object means no expansion"
        raise DataError(f"{source_path}: {problem} {own_ids[missing[0]].as_py()!r}; {todo}")
    return Made(
        (given.kind, _windows(given.kind, own_ids, kept)),
        counts={f"added_{given.kind}": added},
        expansion=given.name,
        kind=given.kind,
        rows=len(kept),
        **{EXPANSION_SOURCE: digest},
    )


def _windows(kind: str, doc_ids: pa.Array, kept: Sequence[bytes | None]) -> Iterator[list[Any]]:
    """Yield the columns of an expansion, some rows at a time."""
    for start in range(0, len(doc_ids), WINDOW_ROWS):
        values = [orjson.loads(line or b"null") for line in kept[start : start + WINDOW_ROWS]]
        columns = [values] if kind == "queries" else [[[*each] for each in values], [[*each.values()] for each in values]]
        yield [doc_ids.slice(start, WINDOW_ROWS), *columns]


def _read_lines(path: str, kind: str, ids: pa.Array, own_ids: pa.Array) -> tuple[list[bytes | None], int]:
    """Check every line, whose document must be among ``ids``, each once.

    Returns as JSON what is added to each of the documents ``own_ids``, None for one without a line, and the number of additions.
    """
    row_of = {doc_id: row for row, doc_id in enumerate(own_ids.to_pylist())}
    kept: list[bytes | None] = [None] * len(own_ids)
    added, names, numbers = 0, list[pa.Array](), list[int]()
    with Progress("read", None, "lines") as progress, stream_of_lines(Path(path), path) as stream:
        for block in read_blocks(stream, path):
            of_block = []
            for number, line in lines_in(*block):
                record = read_value(path, number, line)
                doc_id = record.get("id", record.get("_id")) if isinstance(record, dict) else None
                if not isinstance(doc_id, str) or not doc_id:
                    raise DataError(f"{path}:{number}: expected an object with a non-empty string 'id', found {short(record)}")
                value = _value(path, number, record.get(kind), kind)
                if doc_id in row_of:
                    kept[row_of[doc_id]] = orjson.dumps(value)
                    added += len(value)
                of_block.append(doc_id)
                numbers.append(number)
            names.append(pa.array(of_block, ids.type))
            progress.advance(len(of_block))
    _check_ids(path, pa.chunked_array(names, ids.type), numbers, ids)
    return kept, added


def _check_ids(path: str, names: pa.ChunkedArray, numbers: Sequence[int], ids: pa.Array) -> None:
    """Raise DataError unless the lines of some numbers name documents with these ids, each once."""
    rows = pc.index_in(names, value_set=ids)
    if rows.null_count:
        line = pc.index(rows.is_null(), True).as_py()
        problem = f"the corpus has no document {names[line].as_py()!r}; does the file belong to this corpus?"
        raise DataError(f"{path}:{numbers[line]}: {problem}")
    _, first = np.unique(rows.to_numpy(), return_index=True)
    if len(first) < len(rows):
        line = int(np.setdiff1d(np.arange(len(rows)), first)[0])
        problem = f"the document {names[line].as_py()!r} is in another line already; one was expected"
        raise DataError(f"{path}:{numbers[line]}: {problem}")


def _value(path: str, number: int, value: Any, kind: str) -> Any:
    """Return the queries or the weights of a line, without queries of white space."""
    if kind == "queries" and isinstance(value, list) and all(isinstance(query, str) for query in value):
        return [query.strip() for query in value if query.strip()]
    if kind == "weights" and isinstance(value, dict):
        for word, weight in value.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight) or weight < 0:
                expected = "a finite number of at least 0"
                raise DataError(f"{path}:{number}: the weight of {word!r} is {weight!r}, expected {expected}")
        return value
    raise DataError(f"{path}:{number}: expected {EXPECTED[kind]}, found {short(value)}")
