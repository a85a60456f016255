"""Agreement of a judge that is a model with the people who judged a dataset.

Cohen's kappa (Cohen 1960, doi:10.1177/001316446002000104) is that of the grades without weights, and of relevance, a grade
above 0. Kendall's tau-b compares the orders of the systems, by the mean of one measure, under two sets of judgements: the
grades of people and those of the judge on the pairs of the sample; and all judgements of the dataset without and with those of
the judge on the pool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import kendalltau

from beirflow.evaluation.main_measure import cutoff_of
from beirflow.evaluation.measures import measure
from beirflow.evaluation.sample_agreement import FEWEST_SYSTEMS

UNDER = {
    "people_on_sample": "People, on the sample",
    "judge_on_sample": "Judge, on the sample",
    "dataset": "The dataset",
    "dataset_and_judge": "The dataset and the judge",
}
"""Sets of judgements, by their names in the record, with their names on the page."""

COMPARED = {"sample": ("people_on_sample", "judge_on_sample"), "pool": ("dataset", "dataset_and_judge")}
"""Pairs of these whose orders of systems are compared."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of a judge with people."""

    grades: list[int]  # all grades of either, ascending
    confusion: list[list[int]]  # pairs by the grade of people (rows) and of the judge (columns)
    kappa: float | None  # Cohen's kappa of the grades; None where it is not defined, as if people gave a single grade
    relevance_kappa: float | None  # the same of relevance
    scores: dict[str, dict[str, float]]  # by system, its mean under each set of judgements
    tau: dict[str, float | None]  # by key of :data:`COMPARED`, Kendall's tau-b; None for fewer than three systems, or if all tie


def agreement(
    sample: Sequence[Mapping[str, Any]],
    judged: Sequence[Mapping[str, Any]],
    runs: Mapping[str, pa.Table],
    qrels: pa.Table,
    measured: str,
) -> Agreement:
    """Compare lines of :mod:`beirflow.analysis.judge` that have a grade with the judgements of people.

    ``sample`` has lines on pairs that people judged, ``judged`` those on the pool; ``runs`` are by system, and ``measured`` is
    their measure, such as ``NDCG@10``.
    """
    people = np.array([line["people"] for line in sample], dtype=np.int64)
    judge = np.array([line["grade"] for line in sample], dtype=np.int64)
    grades = sorted({*people.tolist(), *judge.tolist()})
    confusion = confusion_of(people, judge, grades)
    tables = {
        "people_on_sample": _qrels(sample, "people", qrels.schema),
        "judge_on_sample": _qrels(sample, "grade", qrels.schema),
        "dataset": qrels,
        "dataset_and_judge": pa.concat_tables([qrels.select(list(_PAIR)), _qrels(judged, "grade", qrels.schema)]),
    }
    scores = {
        system: {
            under: float(measure(run, table, [cutoff_of(measured)])[measured].mean()) if table.num_rows else 0.0
            for under, table in tables.items()
        }
        for system, run in runs.items()
    }
    by_system = pd.DataFrame(scores).T
    return Agreement(
        grades=grades,
        confusion=confusion.tolist(),
        kappa=kappa(confusion),
        relevance_kappa=kappa(confusion_of(people > 0, judge > 0, [False, True])),
        scores=scores,
        tau={name: _tau(by_system[list(pair)].to_numpy()) for name, pair in COMPARED.items()},
    )


_PAIR = ("query_id", "doc_id", "score")


def confusion_of(people: np.ndarray, judge: np.ndarray, grades: Sequence[Any]) -> np.ndarray:
    """Count pairs by the grade of people and of the judge: int64 of shape (g, g)."""
    return np.array([[int(((people == row) & (judge == column)).sum()) for column in grades] for row in grades], dtype=np.int64)


def kappa(confusion: np.ndarray) -> float | None:
    """Return Cohen's kappa of a confusion matrix: (observed - expected) / (1 - expected) agreement; None if expected is 1."""
    total = confusion.sum()
    if not total:
        return None
    expected = float(confusion.sum(axis=0) @ confusion.sum(axis=1)) / float(total) ** 2
    return None if np.isclose(expected, 1) else (float(np.trace(confusion)) / float(total) - expected) / (1 - expected)


def _qrels(lines: Sequence[Mapping[str, Any]], key: str, schema: pa.Schema) -> pa.Table:
    """Return judgements from the grades under a key of some lines."""
    columns = {"query_id": "query_id", "doc_id": "doc_id", "score": key}
    table = pa.table({name: pa.array([line[of] for line in lines], schema.field(name).type) for name, of in columns.items()})
    return table.replace_schema_metadata(schema.metadata)  # from which grade a document is relevant


def _tau(scores: np.ndarray) -> float | None:
    statistic = kendalltau(scores[:, 0], scores[:, 1]).statistic if len(scores) >= FEWEST_SYSTEMS else np.nan
    return None if np.isnan(statistic) else float(statistic)
