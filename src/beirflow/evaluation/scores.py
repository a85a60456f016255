"""The scores of every query: checked against their record, and collected in one file for custom plots.

``docs/files.md`` describes ``scores.parquet``.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.digests import file_digest
from beirflow.core.layout import METRICS, PER_QUERY
from beirflow.core.records import Job, output_digest, read_json
from beirflow.core.verified import check_digest, damaged
from beirflow.core.writing import atomic_path

NAME = pa.dictionary(pa.int32(), pa.string())

SCORES = pa.schema([*((name, NAME) for name in ("system", "dataset", "query_id", "measure")), ("value", pa.float64())])
"""Columns of ``scores.parquet``."""


RETRIEVED_LIMIT = "retrieved_limit"
"""Count of a run, by :func:`retrieved_limit`; in the metrics of a dataset of forums the sum."""


class Scores(Artifact):
    """Every measure of every judged query of one system on one corpus; the record has their means."""

    pattern = PER_QUERY

    @staticmethod
    def write(stream: Stream, data: pd.DataFrame) -> None:
        """Write what :func:`~beirflow.evaluation.measures.measure` returns."""
        table = pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata()
        pq.write_table(table, stream, compression="zstd")


class Means(Artifact):
    """The means of one system on one dataset: a record without another file."""

    pattern = METRICS

    def __init__(self, path: str | Path) -> None:
        self.path = self.record_path = Path(path)
        self.record = read_json(path)
        self.name, self.digest = self.record["path"], file_digest(path)

    @property
    def named(self) -> dict[str, str]:
        """Digest of the record."""
        return {self.name: self.digest}

    def check(self) -> None:
        """Do nothing: a record has its own digest."""


def retrieved_limit(lengths: Sequence[int]) -> int:
    """Return the number of documents at which the results of most queries end; 0 if they end at different numbers.

    A limit of the system, such as the depth of a reranker, cuts nearly all queries alike. A lexical system without such a limit
    ends where no further document has a term of the query.

    Args:
        lengths: The number of documents of each judged query that has results.

    Returns:
        A number of documents.
    """
    most = max(lengths, default=0)
    return most if 2 * sum(length == most for length in lengths) > len(lengths) else 0


def most_documents(means: Mapping[str, Any]) -> int | None:
    """Return the number of documents at which a run ends, from its means; None without a limit below the size of the corpus.

    A measure with a larger cutoff depends on the number of documents of the run, too. With forums it is the mean over these.
    """
    counts, forums = means["counts"], max(1, len(means.get("forums", ())))
    most = counts.get(RETRIEVED_LIMIT, 0) / forums
    # Documents that are left out of the ranking of their query: self matches, which fusions and rerankers do not count.
    left_out = max(1, counts.get("self_matches_dropped", 0) / counts["queries"]) if most else 0
    return int(most) if 0 < most < counts["documents"] / forums - left_out else None


def collect_scores(*, means_paths: Sequence[str], per_query_paths: Sequence[str], scores_path: str, job: Job) -> None:
    """Write every measure of every query of all systems on all corpora in one file, with one corpus at a time in memory.

    Raise DataError if values are not those that were recorded.
    """
    paths = list(zip(means_paths, per_query_paths, strict=True))
    means = [read_json(path) for path in means_paths]
    record = {"inputs": {path: digest for each in means for path, digest in each["outputs"].items()}, "code": job.code}
    schema = SCORES.with_metadata({"beirflow": json.dumps(record)})
    with atomic_path(scores_path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for means_path, per_query_path in paths:
            table = long_form(*read_per_query(means_path, per_query_path)).replace_schema_metadata(schema.metadata)
            # One row group, so that a reader can skip to a system and corpus.
            writer.write_table(table, row_group_size=max(1, table.num_rows))


def read_per_query(means_path: str, per_query_path: str, columns: Sequence[str] | None = None) -> tuple[dict[str, Any], pa.Table]:
    """Return the means of one system on one corpus, and ``query_id`` and measures of every query, in byte order of the ids.

    With ``columns``, queries without a value in one of them are left out: a measure of topics has one a topic.

    Raise DataError if the values were changed after they were written.
    """
    means = read_json(means_path)
    check_digest(per_query_path, output_digest(means, per_query_path), means_path)
    if columns is None:
        return means, pq.read_table(per_query_path)
    return means, pq.read_table(per_query_path, columns=list(columns)).drop_null()


def long_form(means: dict[str, Any], table: pa.Table) -> pa.Table:
    """Return what :func:`read_per_query` read as the columns of ``SCORES``, without queries that a measure has no value at."""
    names = [name for name in table.column_names if name != "query_id"]
    query, measure = np.arange(table.num_rows, dtype=np.int32), np.arange(len(names), dtype=np.int32)
    indices_of = [
        (np.zeros(len(query) * len(names), np.int32), [means["system"]]),
        (np.zeros(len(query) * len(names), np.int32), [means["dataset"]]),
        (np.tile(query, len(names)), table["query_id"].combine_chunks()),
        (np.repeat(measure, len(query)), names),
    ]
    columns = [pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string())) for indices, values in indices_of]
    values = np.concatenate([table[name].to_numpy() for name in names])
    return pa.Table.from_arrays([*columns, pa.array(values, from_pandas=True)], schema=SCORES).drop_null()


def read_means(path: str) -> dict[str, Any]:
    """Read ``metrics/<system>/<dataset>.json``; raise DataError if it was changed, or belongs to another system or dataset."""
    means, (system, dataset) = read_json(path), Path(path).with_suffix("").parts[-2:]
    owner = means["system"], means["dataset"]
    if owner != (system, dataset):
        raise damaged(path, f"it belongs to {owner[0]} on {owner[1]}")
    return means
