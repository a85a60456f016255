"""Scores and rankings of a system on a dataset in two folders of results, compared."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq

from beirflow.audit.chain.reading import part, read_record
from beirflow.evaluation.main_measure import MAIN_MEASURE
from beirflow.exchange.rank_agreement import kendall_tau, overlap_at, rank_biased_overlap
from beirflow.exchange.reproducibility import kendall_tau_union, rank_biased_overlap_to_depth
from beirflow.exchange.soundness import is_finite, per_query
from beirflow.files.layout import METRICS, PER_QUERY, RUN

AGREEMENT = ("tau", "ktu", "rbo0.95")
"""Of two rankings: Kendall's tau of what both have, and its union and the overlap as Breuer et al. have them."""

CHANGED_MOST = 10  # queries of each system and corpus that are shown


Rankings = Iterator[tuple[str, list[str]]]


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
