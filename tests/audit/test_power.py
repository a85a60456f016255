"""The power of the tests for drift: the smallest rise of NDCG@10 that a sample of 100 finds with 95 %.

``pytest -m long -s tests/audit/test_power.py`` prints the table of docs/audit.md. Scores of 200 queries and 2000 documents
are drawn, two of each query's first 20 are relevant, and rounded twice, by what each family and precision was measured to round.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.dense.spot_check import VectorCheck
from beirflow.files.layout import QRELS, RUN
from beirflow.late.spot_check import LEAST_DRIFT as LATE
from beirflow.late.spot_check import TokenVectorCheck
from beirflow.rerank import spot_check as rerank
from beirflow.rerank.settings import RerankSettings
from beirflow.runs.drift import LEAST_DRIFT
from beirflow.runs.family import System
from beirflow.runs.representation_check import RepresentationCheck, TextSample
from beirflow.runs.spot_check import Finding
from beirflow.sparse.spot_check import TermWeightCheck
from run_results import RunResults

QUERIES, DOCUMENTS, HITS, SAMPLE = 200, 2000, 50, 100
POWER, TRIALS, STEPS = 0.95, 20, 6
IDS = [f"d{number:04}" for number in range(DOCUMENTS)]
QUERY_IDS = [f"q{number:03}" for number in range(QUERIES)]


class Case(NamedTuple):
    """Scores spread by ``spread`` within a query, change by ``rounding``, and may change by ``tolerance``, all alike in unit."""

    spread: float
    rounding: dict[str, float]
    tolerance: dict[str, float]
    least: Callable[[str], float]


ROUNDING = {"float32": 3e-7, "float16": 1e-4, "bfloat16": 1e-3}

CASES = {
    "dense": Case(0.1, ROUNDING, VectorCheck.tolerance, lambda precision: 2e-6 if precision == "float32" else 1e-5),
    "sparse": Case(0.1, ROUNDING, TermWeightCheck.tolerance, LEAST_DRIFT.__getitem__),
    "late interaction": Case(0.1, {**ROUNDING, "float32": 5e-5}, TokenVectorCheck.tolerance, LATE.__getitem__),
    "reranker": Case(4, {"float32": 4e-6, "float16": 4e-3, "bfloat16": 3e-2}, rerank.TOLERANCE, lambda precision: 0.0),
}


class Simulated(RepresentationCheck[np.ndarray]):
    """The check of a system whose scores are known; those made again are in further columns."""

    made, of_queries, tolerance = ("drawn", "numbers"), RUN, {"float32": 0.0}
    scored: np.ndarray
    least_drift = 0.0  # type: ignore[assignment]

    def stored_queries(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def stored_chunk(self, chunk: int, rows: np.ndarray) -> np.ndarray:
        return rows

    def join(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def load(self, kind: str) -> Any:
        raise NotImplementedError

    def batch_of(self, texts: TextSample[Any], row: int) -> np.ndarray:
        raise NotImplementedError

    def represent(self, sample: TextSample[np.ndarray]) -> np.ndarray:
        return sample.stored + DOCUMENTS

    def compare(self, sample: TextSample[np.ndarray], again: np.ndarray) -> Finding:
        return Finding(True, "")

    def scores(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        return self.scored[np.ix_(queries, documents)]

    def lengths(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        return np.ones((1, 1))

    def score(self, queries: pa.Table, rows: np.ndarray) -> Any:
        raise NotImplementedError


class World:
    """Results whose run is drawn and forged again and again."""

    def __init__(self, folder: Path) -> None:
        self.results = RunResults(folder, dict.fromkeys(IDS, ""), dict.fromkeys(QUERY_IDS, ""), chunk=DOCUMENTS)
        (folder / RUN(system="s", dataset="small")).parent.mkdir(parents=True)
        self.folder = folder

    def found(
        self, case: Case, precision: str, push: float, only_needed: bool, seed: int, patch: pytest.MonkeyPatch
    ) -> tuple[bool, float]:
        """Forge scores by at most ``push`` and audit them; return whether it is found, and the rise of NDCG@10."""
        random = np.random.default_rng(seed)
        true = random.normal(0, case.spread, (QUERIES, DOCUMENTS))
        stored, again = (true + random.normal(0, case.rounding[precision], true.shape) for _ in range(2))
        first = np.argpartition(-true, 20, axis=1)[:, :20]
        relevant = np.zeros(true.shape, bool)
        np.put_along_axis(relevant, random.permuted(first, axis=1)[:, :2], True, axis=1)
        if only_needed:
            for row, those in zip(stored, relevant, strict=True):
                for score in np.sort(row[those]):
                    row[~those & (row > score) & (row < score + push)] = score - 1e-9
        else:
            stored[:, ~relevant.any(axis=0)] -= push
        self._write(stored, relevant)
        rise = _ndcg(stored, relevant) - _ndcg(again, relevant)
        return not self._finding(case, precision, stored, again, patch, seed).passed, rise

    def _finding(
        self, case: Case, precision: str, stored: np.ndarray, again: np.ndarray, patch: pytest.MonkeyPatch, seed: int
    ) -> Finding:
        random = np.random.default_rng(seed)
        if case is CASES["reranker"]:
            settings = RerankSettings("s", first="bm25", model="none")
            subject = self.results.subject(System("s", "rerank", settings), HITS, precision=precision)
            patch.setattr(rerank, "stored_pairs", lambda _: pq.read_table(subject.results / RUN(system="s", dataset="small")))
            check = rerank.PairScoreCheck(subject, SAMPLE, random)

            def scores(pairs: pa.Table, _: str) -> np.ndarray:
                rows = ([int(name[1:]) for name in pairs[key].to_pylist()] for key in ("query_id", "doc_id"))
                return np.asarray(again[tuple(rows)])

            patch.setattr(check, "_scores", scores)
            return check.check()
        subject = self.results.subject(System("s", "none", None), HITS)
        simulated = Simulated(subject, None, SAMPLE, random)
        simulated.scored = np.concatenate([stored, again], axis=1)
        simulated.least_drift = case.least(precision)
        return simulated.check("documents")

    def _write(self, stored: np.ndarray, relevant: np.ndarray) -> None:
        hits = np.argpartition(-stored, HITS, axis=1)[:, :HITS]
        hits = np.take_along_axis(hits, np.argsort(-np.take_along_axis(stored, hits, axis=1), axis=1), axis=1)
        rows = [np.repeat(QUERY_IDS, HITS), np.array(IDS)[hits.ravel()]]
        scores = np.take_along_axis(stored, hits, axis=1).ravel().astype(np.float32)
        run = pa.table([*rows, scores, np.tile(np.arange(1, HITS + 1), QUERIES)], names=["query_id", "doc_id", "score", "rank"])
        pq.write_table(run, self.folder / RUN(system="s", dataset="small"))
        queries, documents = np.nonzero(relevant)
        qrels = [np.array(QUERY_IDS)[queries], np.array(IDS)[documents], np.ones(len(queries), np.int64)]
        pq.write_table(pa.table(qrels, names=["query_id", "doc_id", "score"]), self.folder / QRELS(dataset="small"))


def _ndcg(scores: np.ndarray, relevant: np.ndarray) -> float:
    """Return the mean NDCG@10 of all queries, each of which has two relevant documents."""
    first = np.argpartition(-scores, 10, axis=1)[:, :10]
    first = np.take_along_axis(first, np.argsort(-np.take_along_axis(scores, first, axis=1), axis=1), axis=1)
    discounts = 1 / np.log2(np.arange(2, 12))
    return float((np.take_along_axis(relevant, first, axis=1) @ discounts).mean() / discounts[:2].sum())


def power(world: World, case: Case, precision: str, push: float, only_needed: bool) -> tuple[float, float]:
    """Return the share of forgeries that are found, and the mean rise of NDCG@10."""
    with pytest.MonkeyPatch.context() as patch:
        found = [world.found(case, precision, push, only_needed, seed, patch) for seed in range(TRIALS)]
    return tuple(np.mean(found, axis=0))


def smallest(world: World, case: Case, precision: str, only_needed: bool) -> str:
    """Return the smallest rise that is found, by bisection of the push between rounding and tolerance."""
    most = case.tolerance[precision]
    share, largest = power(world, case, precision, most, only_needed)
    if share < POWER:
        return f"not all up to {largest:+.4f} ({share:.0%})"
    low, high, rise = most / 1000, most, largest
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        share, found = power(world, case, precision, middle, only_needed)
        low, high, rise = (low, middle, found) if share >= POWER else (middle, high, rise)
    return f"{rise:+.4f} of {largest:+.4f}"


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_the_smallest_rise_that_is_found(tmp_path: Path, name: str) -> None:
    world = World(tmp_path)
    for only_needed in (False, True):
        row = [smallest(world, CASES[name], precision, only_needed) for precision in ROUNDING]
        row = [f"{name}, {'rivals just before' if only_needed else 'all rivals'}", *row]
        print(f"| {' | '.join(row)} |")  # noqa: T201
        assert only_needed or not any("not all" in each for each in row)


@pytest.mark.parametrize("name", CASES)
def test_rounding_alone_is_never_found(tmp_path: Path, name: str) -> None:
    world = World(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        assert not any(
            world.found(CASES[name], precision, 0.0, False, seed, patch)[0] for precision in ROUNDING for seed in range(2)
        )
