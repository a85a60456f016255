"""Doubts about the numbers of a folder: those that do not follow from its files."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.audit.chain.reading import open_parquet
from beirflow.evaluation.measures import measure
from beirflow.exchange.reproducibility import Scores
from beirflow.files.errors import DataError
from beirflow.files.records import read_json

TOLERANCE = 1e-9  # by which a mean may differ from that of its queries

COLUMNS = ["query_id", "doc_id", "score", "rank"]


def doubts_about_record(path: Path) -> list[str]:
    """Return the problems of a record; none if it is as beirflow wrote it."""
    try:
        read_json(path)
    except DataError:
        return ["this is not the record that beirflow wrote"]
    return []


def per_query(path: Path, measures: list[str]) -> dict[str, Scores]:
    """Return the values of some measures by query, of those that a Parquet file has, and where it has one."""
    if not path.is_file():
        return {}
    with open_parquet(path, str(path)) as file:
        there = [name for name in measures if name in file.schema_arrow.names]
        table = file.read(["query_id", *there])
    queries = table["query_id"].to_pylist()
    values = {name: zip(queries, table[name].to_pylist(), strict=True) for name in there}
    return {name: {query: value for query, value in pairs if value is not None} for name, pairs in values.items()}


def doubts_about_means(means: Mapping[str, Any], queries: Mapping[str, Scores]) -> list[str]:
    """Return the problems of recorded means: not finite, or not those of the values by query where these are known."""
    doubts = [f"{name} is {value!r}" for name, value in means.items() if not is_finite(value)]
    for name, values in queries.items():
        if not all(map(is_finite, values.values())):
            doubts.append(f"{name} of a query is not a finite number")
        elif is_finite(means.get(name)) and values and abs(fmean(values.values()) - means[name]) > TOLERANCE:
            doubts.append(f"{name} is {means[name]!r}, but the mean of its queries is {fmean(values.values())!r}")
    return doubts


def doubts_about_values(run_path: Path, qrels_path: Path, values_path: Path) -> list[str]:
    """Return the problems of a file of values by query, measured again from a sound run and the judgements."""
    with open_parquet(values_path, str(values_path)) as file:
        names = [name for name in file.schema_arrow.names if name != "query_id"]
    queries, run = per_query(values_path, names), _columns(run_path, ["query_id", "doc_id", "score"])
    qrels = _columns(qrels_path, None)
    again = measure(run, qrels, sorted({int(name.partition("@")[2]) for name in names})).set_index("query_id")
    doubts = []
    for name, values in queries.items():
        expected = again[name].dropna().to_dict()
        if expected.keys() != values.keys():
            doubts.append(f"{name} has {len(values)} queries, but {len(expected)} are judged")
        elif wrong := next((query for query, value in values.items() if not abs(value - expected[query]) <= TOLERANCE), None):
            doubts.append(f"{name} of query {wrong!r} is {values[wrong]!r}, but its run gives {expected[wrong]!r}")
    return doubts


def _columns(path: Path, names: list[str] | None) -> pa.Table:
    """Read columns of a run or of judgements, all without names."""
    with open_parquet(path, str(path)) as file:
        return file.read(names)


def is_finite(value: Any) -> bool:
    """Test whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def doubts_about_run(path: Path) -> list[str]:
    """Return the problems of a run: ids of queries in byte order, ranks from 1, finite scores that never rise, no id twice."""
    with open_parquet(path, str(path)) as file:
        if missing := sorted(set(COLUMNS) - set(file.schema_arrow.names)):
            return [f"the run has no column {', '.join(missing)}"]
        run = file.read(COLUMNS)
    if any(column.null_count for column in run.columns):
        return ["a row of the run has nothing in a column"]
    query_ids, doc_ids = (run[name].combine_chunks().dictionary_encode() for name in ("query_id", "doc_id"))
    query, document = (ids.indices.to_numpy().astype(np.int64) for ids in (query_ids, doc_ids))
    rank, score = (run[name].to_numpy() for name in ("rank", "score"))
    names = query_ids.dictionary
    first = np.append(True, query[1:] != query[:-1])[: len(query)]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(query)), 0))
    doubts = {
        "a score of the run is not a finite number": not np.isfinite(score).all(),
        "the queries of the run are not sorted": int(first.sum()) != len(names) or names != names.take(pc.sort_indices(names)),
        "the ranks of the run do not count from 1": bool((rank != np.arange(len(query)) - starts + 1).any()),
        "the scores of the run rise": bool(((score[1:] > score[:-1]) & ~first[1:]).any()),
        # Both numbers are below 2^31, so that a pair is one number.
        "a document of the run is twice in the results of a query": len(np.unique(query << 32 | document)) != len(query),
    }
    return [says for says, holds in doubts.items() if holds]
