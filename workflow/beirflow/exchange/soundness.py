"""Doubts about the numbers of a folder: those that do not follow from its files."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from beirflow.audit.again.recomputation import TOLERANCE
from beirflow.audit.chain.reading import columns_of, open_parquet, read_columns
from beirflow.evaluation.measures import measure
from beirflow.exchange.reproducibility import Scores


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
    """Return the problems of recorded means: missing, not finite, or not those of the values by query where these are known."""
    doubts = [f"{name} is {value!r}" for name, value in means.items() if not is_finite(value)]
    # A dataset of forums has no queries of its own.
    doubts += [f"{name} has a mean, but no values by query" for name in means if queries and name not in queries]
    for name, values in queries.items():
        if name not in means:
            doubts.append(f"{name} has no mean, but values by query")
        elif not all(map(is_finite, values.values())):
            doubts.append(f"{name} of a query is not a finite number")
        elif is_finite(means.get(name)) and values and abs(fmean(values.values()) - means[name]) > TOLERANCE:
            doubts.append(f"{name} is {means[name]!r}, but the mean of its queries is {fmean(values.values())!r}")
    return doubts


def doubts_about_values(run_path: Path, qrels_path: Path, values_path: Path) -> list[str]:
    """Return the problems of a file of values by query, measured again from a sound run and the judgements."""
    names = [name for name in columns_of(values_path) if name != "query_id"]
    queries, run, qrels = (
        per_query(values_path, names),
        read_columns(run_path, str(run_path)),
        read_columns(qrels_path, str(qrels_path)),
    )
    again = measure(run, qrels, sorted({int(name.partition("@")[2]) for name in names})).set_index("query_id")
    doubts = []
    for name, values in queries.items():
        expected = again[name].dropna().to_dict()
        if expected.keys() != values.keys():
            doubts.append(f"{name} has {len(values)} queries, but {len(expected)} are judged")
        elif wrong := next((query for query, value in values.items() if not abs(value - expected[query]) <= TOLERANCE), None):
            doubts.append(f"{name} of query {wrong!r} is {values[wrong]!r}, but its run gives {expected[wrong]!r}")
    return doubts


def is_finite(value: Any) -> bool:
    """Test whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
