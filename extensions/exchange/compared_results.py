"""The numbers of two folders of results: doubts about those that do not follow from its files, and their comparison."""

import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq

from beirflow.audit.folder.reading import open_parquet, part, read_columns, read_record
from beirflow.config.main_measure import MAIN_MEASURE
from beirflow.core.layout import METRICS, PER_QUERY, RUN
from beirflow.evaluation.measures import measure
from beirflow.extensions.exchange.reproducibility import (
    Scores,
    kendall_tau,
    kendall_tau_union,
    overlap_at,
    rank_biased_overlap,
    rank_biased_overlap_to_depth,
)

AGREEMENT = ("tau", "ktu", "rbo0.95")
"""Of two rankings: Kendall's tau of what both have, and its union and the overlap as Breuer et al. have them."""

TOLERANCE = 1e-9  # between sums of the same numbers in other orders

CHANGED_MOST = 10  # queries of each system and corpus that are shown


Rankings = Iterator[tuple[str, list[str]]]


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


def names_of_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    with open_parquet(path, path.name) as file:
        return [str(name) for name in file.schema_arrow.names]


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
    names = [name for name in names_of_columns(values_path) if name != "query_id"]
    run, qrels = (read_columns(path, str(path)) for path in (run_path, qrels_path))
    again = measure(run, qrels, sorted({int(name.partition("@")[2]) for name in names})).set_index("query_id")
    doubts = []
    for name, values in per_query(values_path, names).items():
        expected = again[name].dropna().to_dict()
        if expected.keys() != values.keys():
            doubts.append(f"{name} has {len(values)} queries, but {len(expected)} are judged")
        elif wrong := next((query for query, value in values.items() if not abs(value - expected[query]) <= TOLERANCE), None):
            doubts.append(f"{name} of query {wrong!r} is {values[wrong]!r}, but its run gives {expected[wrong]!r}")
    return doubts


def is_finite(value: Any) -> bool:
    """Test whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def compare_scores(sides: list[Path], system: str, dataset: str) -> dict[str, Any]:
    """Return the measures that both sides have of a system on a dataset, with their differences."""
    here, there = (part(read_record(side / METRICS(system=system, dataset=dataset)), "measures", kind=dict) for side in sides)
    measures = {
        name: {"here": here[name], "there": there[name], "difference": here[name] - there[name]}
        for name in here
        if is_finite(here[name]) and is_finite(there.get(name))
    }
    return {"system": system, "dataset": dataset, "measures": measures}


def compare_rankings(sides: list[Path], system: str, dataset: str) -> dict[str, Any]:
    """Return the mean agreement of the rankings of a system on a corpus, and the queries that changed most."""
    measured = [
        per_query(side / PER_QUERY(system=system, dataset=dataset), [MAIN_MEASURE]).get(MAIN_MEASURE, {}) for side in sides
    ]
    queries: list[dict[str, Any]] = []
    for query, here, there in _both([_read_rankings(side / RUN(system=system, dataset=dataset)) for side in sides]):
        scores = [value if is_finite(value) else None for value in (table.get(query) for table in measured)]
        queries.append(
            {
                "query": query,
                "same": here == there,
                "rbo": rank_biased_overlap(here, there),
                "tau": kendall_tau(here, there),
                "overlap@10": overlap_at(here, there),
                "ktu": kendall_tau_union(there, here),
                "rbo0.95": rank_biased_overlap_to_depth(there, here),
                MAIN_MEASURE: scores,
                "difference": None if scores[0] is None or scores[1] is None else scores[0] - scores[1],
            }
        )
    most = sorted(queries, key=lambda query: (-abs(query["difference"] or 0), query["rbo"], query["query"]))[:CHANGED_MOST]
    values = {key: [query[key] for query in queries if query[key] is not None] for key in ("rbo", "overlap@10", *AGREEMENT)}
    return {
        "system": system,
        "dataset": dataset,
        "queries": len(queries),
        "same": sum(query["same"] for query in queries),
        **{key: fmean(known) if known else None for key, known in values.items()},
        "changed most": [query for query in most if not query["same"] or query["difference"]],
    }


def _read_rankings(path: Path) -> Rankings:
    """Yield queries in byte order of their ids, with their documents, one query at a time."""
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(columns=["query_id", "doc_id"])
        rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
        for query, of_query in groupby(rows, key=itemgetter(0)):
            yield query, [doc_id for _, doc_id in of_query]


def _both(sides: list[Rankings]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the queries that either side has, with the documents of both; none where a side has no results."""
    here, there = (next(side, None) for side in sides)
    while here or there:
        first = min(ranking[0] for ranking in (here, there) if ranking)
        yield first, here[1] if here and here[0] == first else [], there[1] if there and there[0] == first else []
        if here and here[0] == first:
            here = next(sides[0], None)
        if there and there[0] == first:
            there = next(sides[1], None)
