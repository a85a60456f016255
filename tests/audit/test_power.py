"""The power of the tests for drift: the smallest rise of NDCG@10 that a sample of 100 finds with 95 %.

``pytest -m long -s tests/audit/test_power.py`` prints the table of docs/audit.md. Scores of 200 queries and 2000 documents
are drawn, two of each query's first 20 are relevant, and rounded twice, by what each family and precision was measured to round.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.layout import QRELS, RUN
from beirflow.extensions.expansions.spot_check import OTHER_QUERIES, ExpansionCheck
from beirflow.extensions.expansions.spot_check import TOLERANCE as TOLERANCE_OF_WEIGHTS
from beirflow.families.dense.spot_check import VectorCheck
from beirflow.families.expansions.settings import WordWeights, WrittenQueries
from beirflow.families.late_interaction.spot_check import TokenVectorCheck
from beirflow.families.rerank import spot_check as rerank
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.sparse.spot_check import TermWeightCheck
from beirflow.families.spot_checks.representation_check import RepresentationCheck, TextSample
from beirflow.families.spot_checks.spot_check import Finding
from beirflow.families.system import System
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
    least: Mapping[str, float]


ROUNDING = {"float32": 3e-7, "float16": 1e-4, "bfloat16": 1e-3}

CASES = {
    "dense": Case(0.1, ROUNDING, VectorCheck.tolerance, VectorCheck.least_drift),
    "sparse": Case(0.1, ROUNDING, TermWeightCheck.tolerance, TermWeightCheck.least_drift),
    "late interaction": Case(0.1, {**ROUNDING, "float32": 5e-5}, TokenVectorCheck.tolerance, TokenVectorCheck.least_drift),
    "reranker": Case(4, {"float32": 4e-6, "float16": 4e-3, "bfloat16": 3e-2}, rerank.TOLERANCE, {}),
}


EXPANDED, ASKED, WORDS, ADDED = 400, 50, 2000, 20
"""Documents, queries and words of a corpus, and queries that a model adds to each document."""

OTHERS = {"float32": 0.002, "float16": 0.05, "bfloat16": 0.2}
"""Share of added queries that are others on another machine."""

ADDED_PUSH = {
    "queries": {precision: min(1.0, 2 * share) for precision, share in OTHER_QUERIES.items()},
    "weights": TOLERANCE_OF_WEIGHTS,
}
"""Share of the added queries of relevant documents, or of the length of their weights, that a forger has at most."""


class Simulated(RepresentationCheck[np.ndarray]):
    """The check of a system whose scores are known; those made again are in further columns."""

    made, of_queries, tolerance = ("drawn", "numbers"), RUN, {"float32": 0.0}
    scored: np.ndarray
    precision = ""  # type: ignore[assignment]

    def stored_queries(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def stored_chunk(self, chunk: int, rows: np.ndarray) -> np.ndarray:
        return rows

    def join(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    def model_settings(self) -> Any:
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
        self, case: Case, precision: str, only_needed: bool, patch: pytest.MonkeyPatch, push: float, seed: int
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
        simulated.least_drift, simulated.precision = case.least, precision  # type: ignore[misc]
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


class Written(ExpansionCheck):
    """The check of additions to documents that are known, stored and made again."""

    both: tuple[list[Any], list[Any]]
    _precision = ""  # type: ignore[assignment]

    def _sample(self) -> tuple[list[str], list[str], list[Any]]:
        (rows,) = self.subject.draw_documents(self.sample, self.random, relevant=self.sample // 2)
        return self.subject.doc_ids(0).take(pa.array(rows)).to_pylist(), rows.tolist(), [self.both[0][row] for row in rows]

    def _make(self, ids: Any, texts: Any) -> list[Any]:
        return [self.both[1][row] for row in texts]


class ExpandedWorld:
    """Documents of drawn words to which a model adds queries, or weights of their words."""

    def __init__(self, folder: Path) -> None:
        random, share = np.random.default_rng(0), 1 / np.arange(1, WORDS + 1)
        draw = lambda *shape: random.choice(WORDS, shape, p=share / share.sum())  # noqa: E731
        self.texts, self.queries = draw(EXPANDED, 40), draw(ASKED, 4)
        self.relevant = np.arange(EXPANDED) % ASKED  # of each of the first documents the query; two a query
        self.queries[:, 0] = self.texts[:ASKED, 0]
        asked = {QUERY_IDS[row]: _words_of(query) for row, query in enumerate(self.queries)}
        qrels = {QUERY_IDS[row]: {IDS[row]: 1, IDS[row + ASKED]: 1} for row in range(ASKED)}
        results = RunResults(folder, dict.fromkeys(IDS[:EXPANDED], ""), asked, chunk=EXPANDED, qrels=qrels)
        results.write_run("s", {query: {IDS[row]: 1.0 for row in range(0, EXPANDED, 7)} for query in asked})
        self.subject = results.subject(System("s", "none", None), HITS)

    def found(self, kind: str, precision: str, push: float, seed: int) -> tuple[bool, float]:
        """Add words of queries to documents that are relevant to them."""
        random = np.random.default_rng(seed)
        both, counts = (self._written if kind == "queries" else self._weighed)(precision, push, random)
        added = (WrittenQueries if kind == "queries" else WordWeights)(model="m")
        check = Written(self.subject, added, SAMPLE, random, str.split)
        check.both, check._precision = both, precision  # type: ignore[misc, assignment]
        stored, again = (self._ndcg(count) for count in counts)
        return not check.check().passed, stored - again

    def _written(self, precision: str, push: float, random: np.random.Generator) -> tuple[Any, Any]:
        """Return the stored queries and those written again, and how often each document has each word by them."""
        again, other = (np.array([random.choice(text, (ADDED, 4)) for text in self.texts]) for _ in range(2))
        stored = np.where(random.random((EXPANDED, ADDED, 1)) < OTHERS[precision], other, again)
        leaks = (random.random((EXPANDED, ADDED, 1)) < push) & (np.arange(EXPANDED) < 2 * ASKED)[:, None, None]
        stored = np.where(leaks, self.queries[self.relevant][:, None], stored)
        both = [[[_words_of(query) for query in each] for each in every] for every in (stored, again)]
        return both, [np.array([np.bincount(each.ravel(), minlength=WORDS) for each in every]) for every in (stored, again)]

    def _weighed(self, precision: str, push: float, random: np.random.Generator) -> tuple[Any, Any]:
        """Return the same of words and their weights."""
        counts, weights = np.zeros((2, EXPANDED, WORDS)), random.random((EXPANDED, 40))
        for count in counts:
            rounded = weights * (1 + random.normal(0, ROUNDING[precision], weights.shape))
            np.put_along_axis(count, self.texts, rounded, axis=1)
        for row in range(2 * ASKED):
            counts[0, row, self.queries[self.relevant[row]]] += 0.4 * push * np.linalg.norm(counts[0, row])
        both = [[[(f"w{word}", one[word]) for word in np.flatnonzero(one)] for one in count] for count in counts]
        return both, counts

    def _ndcg(self, added: np.ndarray) -> float:
        counts = added + np.array([np.bincount(text, minlength=WORDS) for text in self.texts])
        inverse = np.log(1 + EXPANDED / (1 + (counts > 0).sum(axis=0)))
        scores = np.array([(inverse[query] * counts[:, query] / (counts[:, query] + 1.2)).sum(axis=1) for query in self.queries])
        relevant = (self.relevant == np.arange(ASKED)[:, None]) & (np.arange(EXPANDED) < 2 * ASKED)
        return _ndcg(scores, relevant)


def _words_of(numbers: np.ndarray) -> str:
    return " ".join(f"w{number}" for number in numbers)


Found = Callable[[float, int], tuple[bool, float]]
"""Forges by at most a push, with a seed; returns whether it is found, and the rise of NDCG@10."""


def power(found: Found, push: float) -> tuple[float, float]:
    """Return the share of forgeries that are found, and the mean rise of NDCG@10."""
    return tuple(np.mean([found(push, seed) for seed in range(TRIALS)], axis=0))


def smallest(found: Found, most: float) -> str:
    """Return the smallest rise that is found, by bisection of the push between rounding and tolerance."""
    share, largest = power(found, most)
    if share < POWER:
        return f"not all up to {largest:+.4f} ({share:.0%})"
    low, high, rise = most / 1000, most, largest
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        share, risen = power(found, middle)
        low, high, rise = (low, middle, risen) if share >= POWER else (middle, high, rise)
    return f"{rise:+.4f} of {largest:+.4f}"


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_the_smallest_rise_that_is_found(tmp_path: Path, name: str) -> None:
    world, case = World(tmp_path), CASES[name]
    for only_needed in (False, True):
        row = []
        for precision in ROUNDING:
            with pytest.MonkeyPatch.context() as patch:
                row.append(smallest(partial(world.found, case, precision, only_needed, patch), case.tolerance[precision]))
        row = [f"{name}, {'rivals just before' if only_needed else 'all rivals'}", *row]
        print(f"| {' | '.join(row)} |")  # noqa: T201
        assert only_needed or not any("not all" in each for each in row)


@pytest.mark.long
@pytest.mark.parametrize("kind", ADDED_PUSH)
def test_the_smallest_rise_by_what_a_model_adds_that_is_found(tmp_path: Path, kind: str) -> None:
    world = ExpandedWorld(tmp_path)
    row = [smallest(partial(world.found, kind, precision), most) for precision, most in ADDED_PUSH[kind].items()]
    print(f"| {kind} | {' | '.join(row)} |")  # noqa: T201


@pytest.mark.parametrize("kind", ADDED_PUSH)
def test_what_a_model_adds_otherwise_by_chance_is_never_found(tmp_path: Path, kind: str) -> None:
    world = ExpandedWorld(tmp_path)
    assert not any(world.found(kind, precision, 0.0, seed)[0] for precision in ROUNDING for seed in range(2))


@pytest.mark.parametrize("name", CASES)
def test_rounding_alone_is_never_found(tmp_path: Path, name: str) -> None:
    world = World(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        assert not any(
            world.found(CASES[name], precision, False, patch, 0.0, seed)[0] for precision in ROUNDING for seed in range(2)
        )
