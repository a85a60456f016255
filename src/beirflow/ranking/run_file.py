"""Runs: the ranked documents of one system for one dataset, as Parquet and as TREC run files."""

import gzip
import logging
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core import layout
from beirflow.core.artifact import Artifact, Stream
from beirflow.core.errors import DataError
from beirflow.core.records import check_inputs, output_digest, read_json
from beirflow.core.verified import check_digest
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import read_table, recorded_digest
from beirflow.ranking.ranking import byte_order, rank

RUN = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float32()), ("rank", pa.int32())])
"""Columns of a run, sorted by query id in byte order and rank; ranks begin at 1 and follow the ranking rule."""

logger = logging.getLogger(__name__)

WHITESPACE = re.compile(r"\s")

NUL = "\0"  # end of a text for trec_eval: ids that differ only after it would be equal


@dataclass(frozen=True)
class NewRun:
    """A run that a job makes."""

    system: str
    dataset: str  # name of the corpus
    top_k: int  # documents to keep for each query
    run_settings: Mapping[str, Any]  # those that determine it

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of its record that are known before it is made."""
        return {"system": self.system, "dataset": self.dataset, "top_k": self.top_k, "settings": self.run_settings}


def read_run(path: str, expected: str, record_path: str) -> pa.Table:
    """Read a run that can be evaluated, whose sha256 a record states; its columns are those of ``RUN``.

    Raises DataError if the run was changed after it was written, or is none, as :meth:`Run.read` does.
    """
    check_digest(path, expected, record_path)
    return _read(path)


def _read(path: str | Path) -> pa.Table:
    run = pq.ParquetFile(path).read()
    if problem := problem_with_run(run):
        expected = f"a run has {_columns(RUN)}, each document once for a query, ranked by score and id, both descending"
        raise DataError(f"{path}: {problem}; {expected}; to make it again, delete it: rm {shlex.quote(str(path))}")
    return run


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def problem_with_run(run: pa.Table) -> str | None:
    """Return why a table is no run; None if it is one, in any order of rows."""
    if not run.schema.equals(RUN):
        return f"found the columns {_columns(run.schema)}"
    if any(column.null_count for column in run.columns):
        return "found a row with nothing in a column"
    for value in pc.unique(run["query_id"].filter(pc.invert(pc.is_finite(run["score"])))).slice(0, 1):
        return f"found a score for the query {value.as_py()!r} that is not a finite number"
    query, document = (run[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ("query_id", "doc_id"))
    pairs = query.astype(np.int64) << 32 | document  # one number for each pair sorts faster than two
    ordered = np.sort(pairs)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        row = int(np.argmax(pairs == twice[0]))
        return f"found the document {run['doc_id'][row].as_py()!r} twice for the query {run['query_id'][row].as_py()!r}"
    # Ranks of runs that were made before lexical systems followed the rule differ where scores tie.
    doc_ids, ranks = run["doc_id"].combine_chunks(), run["rank"].to_numpy()
    order, expected = rank(query, run["score"].to_numpy(), lambda tied: byte_order(doc_ids.take(pa.array(tied))))
    for place in np.flatnonzero(ranks[order] != expected)[:1].tolist():
        row = order[place].item()
        pair = f"the document {doc_ids[row].as_py()!r} at rank {ranks[row]} for the query {run['query_id'][row].as_py()!r}"
        return f"found {pair}, expected rank {expected[place]}"
    return None


Columns = tuple[pa.Array, pa.Array, np.ndarray, np.ndarray]
"""Rows of a run, sorted by query and rank: ids of queries and documents, scores and ranks, each of shape (n,)."""


class Run(Artifact):
    """A run: the ranked documents of one system for one dataset."""

    pattern = layout.RUN

    def read(self) -> pa.Table:
        """Read the columns of ``RUN``.

        Raises DataError for other columns, a score that is not a number, a document twice for one query, or ranks that do not
        follow the ranking rule.
        """
        return _read(self.path)

    @staticmethod
    def write(stream: Stream, data: Iterable[Columns]) -> None:
        """Write rows a part at a time, and warn of a run that ranks nothing."""
        written, tied, differ = 0, False, False
        with pq.ParquetWriter(stream, RUN, compression="zstd") as writer:
            for columns in data:
                rows = pa.table(list(columns), schema=RUN)
                writer.write_table(rows)
                written += len(rows)
                if not differ:
                    same_query = pc.equal(rows["query_id"][1:], rows["query_id"][:-1])
                    other_score = pc.not_equal(rows["score"][1:], rows["score"][:-1]).filter(same_query)
                    tied, differ = tied or len(other_score) > 0, pc.any(other_score).as_py() is True
        if not written:
            logger.warning("no query has a document, so all measures are 0; look at the system")
        elif tied and not differ:
            logger.warning("all documents of a query have the same score, so their ids alone rank them; look at the system")


def queries_without_line(run_path: str, queries_path: str) -> list[str]:
    """Return the judged queries for which a run has no document, by ids in byte order.

    The judged queries are those of ``queries.parquet``, next to its ``corpus.json``; DataError if it was changed.
    """
    query_ids = read_table(queries_path)["query_id"]
    answered = pc.unique(pq.ParquetFile(run_path).read(["query_id"])["query_id"])
    return query_ids.filter(pc.invert(pc.is_in(query_ids, value_set=answered))).to_pylist()


def write_trec(*, run_path: str, record_path: str, queries_path: str, output_path: str, tag: str, header: str = "") -> None:
    """Write a run in TREC form, ``query Q0 document rank score tag``, compressed with gzip; ``#`` begins each line of the header.

    Raises DataError, and writes nothing, if the run or the queries were changed after they were written, the run is of other
    queries, an id holds whitespace, which separates the columns of a TREC run, or NUL, or a query begins with ``#``.
    """
    check_export(run_path, record_path, queries_path, output_path, system=tag)
    write_lines(pq.ParquetFile(run_path).iter_batches(), run_path, output_path, ".9g", tag, header)


def write_lines(rows: Iterable[pa.RecordBatch], run_path: str, output_path: str, form: str, tag: str, header: str = "") -> None:
    """Write rows of a run, with the columns of ``RUN``, as lines in TREC form; ``form`` is that of scores.

    Raises DataError, and writes nothing, for ids as :func:`write_trec` does; ``run_path`` is for the message.
    """
    # Without name and time in the header of gzip, equal runs are equal bytes.
    with (
        atomic_path(output_path) as partial,
        partial.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out,
    ):
        out.write(header.encode("utf-8"))
        for batch in rows:
            query_ids, doc_ids, scores, ranks = (column.to_pylist() for column in batch)
            for each in dict.fromkeys([*query_ids, *doc_ids]):
                if WHITESPACE.search(each) or NUL in each:
                    sign = "NUL" if NUL in each else "whitespace"
                    problem = f"a TREC run cannot hold the id {each!r}, because of the {sign} in it"
                    raise DataError(f"{run_path}: {problem}; use the Parquet file")
            if comment := next((query_id for query_id in query_ids if query_id.startswith("#")), None):
                problem = "for trec_eval 10, a line that begins with '#' is a comment, so it would leave the query out"
                raise DataError(f"{run_path}: a TREC run cannot hold the query {comment!r}: {problem}; use the Parquet file")
            columns = zip(query_ids, doc_ids, ranks, scores, strict=True)
            lines = [f"{query_id} Q0 {doc_id} {rank} {score:{form}} {tag}\n" for query_id, doc_id, rank, score in columns]
            out.write("".join(lines).encode("utf-8"))


def check_export(run_path: str, record_path: str, queries_path: str, output_path: str, *, system: str) -> list[str]:
    """Check that a run is the recorded one of this system and these queries; return judged queries without a document."""
    record = read_json(record_path)
    queries = {layout.QUERIES(dataset=record["dataset"]): recorded_digest(queries_path)}
    check_inputs(record_path, record, queries, system=system)
    check_digest(run_path, output_digest(record, run_path), record_path)
    if missing := queries_without_line(run_path, queries_path):
        logger.warning(
            "%s: %d judged queries have no line, because the system returned nothing for them: %s; "
            "count them as 0, with trec_eval by its option -c",
            *(output_path, len(missing), ", ".join(missing)),
        )
    return missing
