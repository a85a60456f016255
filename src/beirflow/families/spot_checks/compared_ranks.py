"""Compare the ranks of a run with recomputed scores of all documents."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.layout import QRELS, RUN
from beirflow.core.patterns import Pattern
from beirflow.data.own_candidates import candidates_in
from beirflow.data.sources.forms import EXCLUDED
from beirflow.families.spot_checks.spot_check import Finding, SpotCheck, Subject
from beirflow.ranking.ranking import Ties


def as_block(scores: Sequence[Mapping[str, float]]) -> tuple[pa.Array, np.ndarray]:
    """Return the scores of the documents of each query as :func:`compare_ranks` takes them.

    These are the ids of all documents, and float64 of shape (queries, documents), minus infinity where a query has none.
    """
    ids = sorted({doc_id for of_query in scores for doc_id in of_query})
    table = [[of_query.get(doc_id, -np.inf) for doc_id in ids] for of_query in scores]
    return pa.array(ids, pa.string()), np.array(table, np.float64).reshape(len(scores), len(ids))


def compare_ranks(
    subject: Subject,
    query_ids: list[str],
    blocks: Iterable[tuple[pa.Array, np.ndarray]],
    slack: Callable[[], np.ndarray] | None = None,
    expected: str = "exact search over all documents",
    ties: Ties = "descending",
    whole: bool = True,
) -> Finding:
    """Compare the run of some queries with the scores of all documents, or of some.

    Every query must have as many documents as there are, up to the cut, each once and with its score. None may be left out that
    scores higher; nor, where scores are exact, one that comes first at the cut. Scores of some documents show less of it: a hit
    that is none of them is taken as it is, and there may be more hits.

    Args:
        subject: The system and the corpus.
        query_ids: The queries.
        blocks: Ids of the next documents, and the scores of all these queries for them, of shape (queries, documents); minus
            infinity where a document is not retrieved. Together all documents, each once.
        slack: Largest difference of two scores of each query but for their rounding, shape (queries,), called once all blocks
            have been read; None where scores are exact.
        expected: What the run should agree with.
        ties: Order of the ids of documents with the same score at the cut.
        whole: The blocks are all documents.

    Returns:
        The finding.
    """
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    ranks = _Ranks(subject, query_ids, ties, whole=whole)
    for doc_ids, scores in blocks:
        ranks.add(doc_ids, scores)
    slacks = slack().tolist() if slack else [0.0] * len(query_ids)
    for number, (query, within) in enumerate(zip(query_ids, slacks, strict=True)):
        if problem := ranks.problem(number, within):
            return Finding(False, f"{path}: query {query!r} {problem}", expected)
    compared = "every rank" if whole else f"{ranks.compared} hits"
    return Finding(True, f"{subject.name}: {len(query_ids)} queries, {compared} as in {path}")


class Scores(NamedTuple):
    """Recomputed scores of all documents for some queries; see :func:`compare_ranks`."""

    blocks: Iterable[tuple[pa.Array, np.ndarray]]
    slack: Callable[[], np.ndarray] | None = None
    ties: Ties = "descending"


class SearchCheck(ABC):
    """The checks of one system on one corpus, of which sampled queries are searched again; ``random`` draws the sample."""

    def __init__(self, subject: Subject, settings: Any, sample: int, random: np.random.Generator) -> None:
        self.subject, self.settings, self.sample, self.random = subject, settings, sample, random

    @property
    def names(self) -> dict[str, Any]:
        """Names in the paths of what is searched."""
        return {"system": self.subject.system.name, "dataset": self.subject.dataset}

    def path(self, pattern: Pattern, **chunk: int) -> str:
        """Return the path of a file of what is searched. Raises NotHereError if it is not here."""
        return str(self.subject.file(pattern(**self.names, **chunk)))

    @abstractmethod
    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, at some rows of all queries, without the code of the search."""

    def ranks(self) -> SpotCheck:
        """Plan the check of the run, for which no model is needed."""
        run = RUN(system=self.subject.system.name, dataset=self.subject.dataset)
        return SpotCheck("queries searched again have the recorded ranks", run, self.check_ranks)

    def check_ranks(self) -> Finding:
        """Search some queries again and compare with the run."""
        queries, rows = self.subject.draw_queries(self.sample, self.random)
        scores = self.score(queries, rows)
        return compare_ranks(self.subject, queries["query_id"].to_pylist(), scores.blocks, scores.slack, ties=scores.ties)


class _Ranks:
    """The best scores of some queries so far, and the scores of the documents that their run has."""

    def __init__(self, subject: Subject, query_ids: list[str], ties: Ties, *, whole: bool) -> None:
        self.subject, self.query_ids, self._ties = subject, pa.array(query_ids, pa.string()), ties
        self._whole = whole
        queries = subject.queries
        self._candidates = candidates_in(queries)
        if subject.own_candidates:
            self._candidates = pq.read_table(subject.file(QRELS(dataset=subject.dataset)))
        self._excluded: list[pa.Array] = []  # of each query, ids of the documents that it excludes
        if EXCLUDED in queries.column_names:
            lists = dict(zip(queries["query_id"].to_pylist(), queries[EXCLUDED].combine_chunks(), strict=True))
            self._excluded = [lists[query].values for query in query_ids]
        path = subject.results / RUN(system=subject.system.name, dataset=subject.dataset)
        run = pq.read_table(path, filters=[("query_id", "in", query_ids)]).sort_by(
            [("query_id", "ascending"), ("rank", "ascending")]
        )
        self._query = pc.index_in(run["query_id"].combine_chunks(), value_set=self.query_ids).to_numpy(zero_copy_only=False)
        self._doc_ids, self._recorded = run["doc_id"].combine_chunks(), run["score"].to_numpy()
        self._scores = np.full(run.num_rows, np.nan)
        self._last = self._last_ones()
        self._left_out: dict[int, set[str]] = {}
        self._best = np.empty((len(query_ids), 0))
        self._retrieved = np.zeros(len(query_ids), np.int64)

    def _last_ones(self) -> dict[int, tuple[float, list[str]]]:
        """Return, for each query whose run was cut, by number the score of its last document and all its documents with it."""
        last_ones: dict[int, tuple[float, list[str]]] = {}
        for number in range(len(self.query_ids)):
            rows = np.flatnonzero(self._query == number)
            if len(rows) == self.subject.top_k:
                score = float(self._recorded[rows[-1]])
                tied = rows[self._recorded[rows] == np.float32(score)]
                last_ones[number] = score, self._doc_ids.take(pa.array(tied)).to_pylist()
        return last_ones

    def _look_at_the_cut(self, doc_ids: pa.Array, scores: np.ndarray) -> None:
        """Note the first and the last by id of the documents that score as the last one of the run and are not in it."""
        for number, (score, tied) in self._last.items():
            same = doc_ids.take(pa.array(np.flatnonzero(scores[number] == score))).to_pylist()
            if left_out := self._left_out.get(number, set()) | set(same).difference(tied):
                self._left_out[number] = {min(left_out), max(left_out)}

    def _problem_at_the_cut(self, number: int) -> str:
        """Describe a document that was left out though it comes before one that was kept; empty if there is none."""
        if number not in self._left_out:
            return ""
        kept, left_out = self._last[number][1], self._left_out[number]
        ascending = self._ties == "ascending"
        first, last = (min(left_out), max(kept)) if ascending else (max(left_out), min(kept))
        before = first < last if ascending else first > last
        return f"has {last!r}, but not {first!r}, which has the same score and comes before it at the cut" if before else ""

    def add(self, doc_ids: pa.Array, scores: np.ndarray) -> None:
        scores = scores.astype(np.float64)  # a copy to change, in which float32 scores stay exact
        if self.subject.drop_self_matches:
            own = pc.fill_null(pc.index_in(self.query_ids, value_set=doc_ids), -1).to_numpy(zero_copy_only=False)
            scores[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
        for number, of_query in enumerate(self._excluded):
            scores[number, pc.is_in(doc_ids, value_set=of_query).to_numpy(zero_copy_only=False)] = -np.inf
        if self._candidates is not None:
            for number, query in enumerate(self.query_ids.to_pylist()):
                own = self._candidates.filter(pc.equal(self._candidates["query_id"], query))["doc_id"].combine_chunks()
                scores[number, ~pc.is_in(doc_ids, value_set=own).to_numpy(zero_copy_only=False)] = -np.inf
        self._look_at_the_cut(doc_ids, scores)
        self._retrieved += (scores > -np.inf).sum(axis=1)
        place = pc.fill_null(pc.index_in(self._doc_ids, value_set=doc_ids), -1).to_numpy(zero_copy_only=False)
        here = np.flatnonzero(place >= 0)
        self._scores[here] = scores[self._query[here], place[here]]
        best = np.concatenate([self._best, scores], axis=1)
        keep = min(self.subject.top_k, best.shape[1])
        self._best = np.partition(best, best.shape[1] - keep, axis=1)[:, best.shape[1] - keep :]

    @property
    def compared(self) -> int:
        """Number of hits whose scores were recomputed."""
        return int(np.count_nonzero(~np.isnan(self._scores)))

    def problem(self, number: int, slack: float) -> str:
        """Return the problem of the ranks of a query; empty without one."""
        rows, best = np.flatnonzero(self._query == number), np.sort(self._best[number])[::-1]
        # Those with scores that are surely above 0 are hits of every family, unless they are below the cut.
        most, has, sure = self.subject.top_k, int(np.sum(self._scores[rows] > slack)), int(np.sum(best > slack))
        if self._whole and len(rows) != (expected := min(most, int(self._retrieved[number]))):
            return f"has {len(rows)} documents, expected {expected}"
        if not self._whole and len(rows) < most and has < sure:
            return f"has {len(rows)} documents, {has} of those made again, expected {most}, or all {sure} that score above 0"
        best = np.pad(best, (0, len(rows)), constant_values=-np.inf).tolist()
        seen: set[str] = set()
        for rank, row in enumerate(rows.tolist()):
            doc_id, score, recorded = self._doc_ids[row].as_py(), float(self._scores[row]), float(self._recorded[row])
            if not self._whole and np.isnan(score):
                score = recorded
            if doc_id in seen:
                return f"has {doc_id!r} twice"
            seen.add(doc_id)
            # A recomputed score may have more digits than a run, whose scores are rounded.
            if not np.float32(score - slack) <= recorded <= np.float32(score + slack):
                return f"has the score {recorded!r} for {doc_id!r}, expected {score!r}"
            # Recomputed scores differ from recorded ones by the slack, and from each other by two.
            if np.float32(best[rank] - slack) > np.float32((score if self._whole else recorded) + slack):
                return f"has {doc_id!r} with the score {score!r} at rank {rank + 1}, expected one with {best[rank]!r}"
        return "" if slack or not self._whole else self._problem_at_the_cut(number)
