"""Agreement of a model as judge with the human judgements of a dataset.

Cohen's kappa (Cohen 1960, doi:10.1177/001316446002000104) is that of the grades without weights, and of relevance, a grade
above 0. Kendall's tau-b compares the orders of the systems, by the mean of one measure, under two sets of judgements: the
grades of people and those of the judge on the pairs of the sample; and all judgements of the dataset without and with those of
the judge on the pool. Which pairs are in the sample or the pool decides much of both orders, so tau is high for any grades: it is
compared with that of judges who give the same grades to the same pairs at random (a permutation test).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import kendalltau

from beirflow.config.main_measure import cutoff_of
from beirflow.evaluation.measures import measure
from beirflow.evaluation.paired_tests import LEVEL, ROUNDING
from beirflow.evaluation.ranks import FEWEST_SYSTEMS

UNDER = {
    "people_on_sample": "Human grades, sample",
    "judge_on_sample": "Judge, sample",
    "dataset": "Judgements of the dataset",
    "dataset_and_judge": "Judgements of the dataset and the judge",
}
"""Sets of judgements, by their names in the record, with their names on the page."""

COMPARED = {"sample": ("people_on_sample", "judge_on_sample"), "pool": ("dataset", "dataset_and_judge")}
"""Pairs of these whose orders of systems are compared."""


RANDOM_JUDGES = 39  # so many that a tau above that of all of them has p 0.025
DRAWN = 10_000  # draws of the pairs, for the interval of kappa
SEED = 19600101
BOUNDS = (0.025, 0.975)


@dataclass(frozen=True)
class Orders:
    """Agreement of two orders of the systems."""

    tau: float | None  # Kendall's tau-b; None for fewer than three systems, or if all tie
    random: float | None = None  # mean tau of random judges, who permute the grades over the same pairs
    highest: float | None = None  # their highest tau
    p: float | None = None  # share of these, the judge among them, whose tau is at least that of the judge

    @property
    def above_chance(self) -> bool:
        """Test whether tau is significantly above that of random judges."""
        return self.p is not None and self.p < LEVEL


@dataclass(frozen=True)
class Agreement:
    """Agreement of a judge with people."""

    grades: list[int]  # all grades of either, ascending
    confusion: list[list[int]]  # pairs by the grade of people (rows) and of the judge (columns)
    kappa: float | None  # Cohen's kappa of the grades; None where it is not defined, as if people gave a single grade
    relevance_kappa: float | None  # the same of relevance
    intervals: tuple[tuple[float, float] | None, tuple[float, float] | None]  # of both kappas
    scores: dict[str, dict[str, float]]  # by system, its mean under each set of judgements
    orders: dict[str, Orders]  # by key of :data:`COMPARED`


def agreement(
    sample: Sequence[Mapping[str, Any]],
    judged: Sequence[Mapping[str, Any]],
    runs: Mapping[str, pa.Table],
    qrels: pa.Table,
    measured: str,
) -> Agreement:
    """Compare lines of :mod:`beirflow.extensions.judging.judge` that have a grade with the judgements of people.

    ``sample`` has lines on pairs that people judged, ``judged`` those on the pool; ``runs`` are by system, and ``measured`` is
    their measure, such as ``NDCG@10``.
    """
    people = np.array([line["people"] for line in sample], dtype=np.int64)
    judge = np.array([line["grade"] for line in sample], dtype=np.int64)
    grades = sorted({*people.tolist(), *judge.tolist()})
    confusion = confusion_of(people, judge, grades)
    relevance = confusion_of(people > 0, judge > 0, [False, True])
    # The first ranks alone enter the measure.
    first = {system: run.filter(pc.less_equal(run["rank"], cutoff_of(measured))) for system, run in runs.items()}
    graded, random = {"judge_on_sample": sample, "dataset_and_judge": judged}, np.random.default_rng(SEED)

    def by_judge(under: str, lines: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return the means of the systems under grades of the judge."""
        table = _qrels(lines, "grade", qrels.schema)
        own_grades = [qrels.select(list(_PAIR))] if under == "dataset_and_judge" else []
        return _means(first, pa.concat_tables([*own_grades, table]), measured)

    def shuffled(under: str) -> np.ndarray:
        """Return the means of the systems under permuted grades."""
        grades = [line["grade"] for line in graded[under]]
        if len({*grades}) < 2:
            return means[under]
        pairs = zip(graded[under], random.permutation(grades).tolist(), strict=True)
        return by_judge(under, [{**line, "grade": grade} for line, grade in pairs])

    people_on_sample = _means(first, _qrels(sample, "people", qrels.schema), measured)
    means = {"people_on_sample": people_on_sample, "dataset": _means(first, qrels, measured)}
    means |= {under: by_judge(under, lines) for under, lines in graded.items()}

    return Agreement(
        grades=grades,
        confusion=confusion.tolist(),
        kappa=kappa(confusion),
        relevance_kappa=kappa(relevance),
        intervals=(kappa_interval(confusion), kappa_interval(relevance)),
        scores={system: {under: float(means[under][place]) for under in UNDER} for place, system in enumerate(runs)},
        orders={name: _orders(means[one], means[other], partial(shuffled, other)) for name, (one, other) in COMPARED.items()},
    )


def _means(runs: Mapping[str, pa.Table], table: pa.Table, measured: str) -> np.ndarray:
    """Return the mean of a measure by some judgements, of every system; 0 without judgements."""
    if not table.num_rows:
        return np.zeros(len(runs))
    return np.array([measure(run, table, [cutoff_of(measured)])[measured].mean() for run in runs.values()])


def _orders(people: np.ndarray, judge: np.ndarray, shuffled: Callable[[], np.ndarray]) -> Orders:
    """Compare the order of systems by two sets of judgements, and that by grades of the second which are ``shuffled``."""
    tau = _tau(np.stack([people, judge], axis=1))
    if tau is None:
        return Orders(None)
    drawn = [_tau(np.stack([people, shuffled()], axis=1)) for _ in range(RANDOM_JUDGES)]
    known = np.array([each for each in drawn if each is not None])
    if not len(known):
        return Orders(tau)
    p = (1 + (known >= tau - ROUNDING).sum()) / (1 + len(known))
    return Orders(tau, float(known.mean()), float(known.max()), float(p))


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


def kappa_interval(confusion: np.ndarray) -> tuple[float, float] | None:
    """Return the 95 % interval of kappa over draws of the pairs with replacement; None where kappa is the same in all draws."""
    total = confusion.sum()
    if not total:
        return None
    drawn = np.random.default_rng(SEED).multinomial(total, confusion.ravel() / total, DRAWN).reshape(-1, *confusion.shape)
    observed = drawn.trace(axis1=1, axis2=2) / total
    expected = (drawn.sum(axis=1) * drawn.sum(axis=2)).sum(axis=1) / float(total) ** 2
    defined = ~np.isclose(expected, 1)
    kappas = (observed[defined] - expected[defined]) / (1 - expected[defined])
    if not len(kappas) or np.ptp(kappas) <= ROUNDING:
        return None
    low, high = np.quantile(kappas, BOUNDS).tolist()
    return low, high


def _qrels(lines: Sequence[Mapping[str, Any]], key: str, schema: pa.Schema) -> pa.Table:
    """Return judgements from the grades under a key of some lines."""
    columns = {"query_id": "query_id", "doc_id": "doc_id", "score": key}
    table = pa.table({name: pa.array([line[of] for line in lines], schema.field(name).type) for name, of in columns.items()})
    return table.replace_schema_metadata(schema.metadata)  # from which grade a document is relevant


def _tau(scores: np.ndarray) -> float | None:
    statistic = kendalltau(scores[:, 0], scores[:, 1]).statistic if len(scores) >= FEWEST_SYSTEMS else np.nan
    return None if np.isnan(statistic) else float(statistic)
