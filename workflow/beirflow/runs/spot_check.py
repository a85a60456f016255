"""Make a sample of results again, by another path than the one that made them.

A family says how its representations and scores are made again; what is common to all, comparing scores with a run, is here.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.files.layout import DOCUMENTS, QRELS, QUERIES, RUN
from beirflow.runs.family import System

S = TypeVar("S", bound=Any)

MODEL_PLACE = ("model", "offline", "revision")
"""Settings that say where a model is."""

FIRST_HITS = 10
"""Ranks of a run whose documents are drawn rather than others: the measures look there."""


class NotHereError(Exception):
    """Something is not here that the check needs; the message says what."""


class Finding(NamedTuple):
    """What one check found.

    Attributes:
        passed: Whether it is as it should be.
        found: What is the case.
        expected: What should be; empty where ``found`` says it all.
    """

    passed: bool
    found: str
    expected: str = ""


class SpotCheck(NamedTuple):
    """One thing that can be made again.

    Attributes:
        name: What is checked, as the audit shows it.
        path: The file or folder below the results that would be wrong.
        run: Makes the sample again and compares it. May raise :class:`NotHereError`.
    """

    name: str
    path: str
    run: Callable[[], Finding]


@dataclass(frozen=True)
class Subject:
    """One system on one corpus, of which a sample is made again.

    Attributes:
        results: The folder of all results.
        system: The system as the results say.
        here: The system of this name in the configuration of the person who audits, which says where its model is; None if it is
            not configured.
        dataset: Name of the corpus.
        made: What the run was made with, as its record says.
        top_k: Documents that were kept for each query.
        drop_self_matches: Whether a document whose id is the query's id was dropped.
        chunks: Number of chunks of the corpus.
        config: The configuration of the person who audits: ``device``, ``token_budget``, ``jobs_per_gpu``.
        row: The dataset that a forum belongs to; empty for a corpus that is a dataset itself.
        own_candidates: Whether each query ranks only the documents that are judged for it.
    """

    results: Path
    system: System
    here: System | None
    dataset: str
    made: dict[str, Any]
    top_k: int
    drop_self_matches: bool
    chunks: int
    config: dict[str, Any]
    row: str = ""
    own_candidates: bool = False

    @property
    def name(self) -> str:
        """Both, for a sentence."""
        return f"{self.system.name} on {self.dataset}"

    def precision(self, known: Container[str]) -> str:
        """The precision of the run.

        Args:
            known: Those that a family can make again.

        Returns:
            One of these.

        Raises:
            ValueError: It is none of these.
        """
        found = self.made.get("precision")
        if found not in known:
            raise ValueError(f"the run was made in the precision {found!r}")
        return str(found)

    def file(self, path: str) -> Path:
        """A file of the results.

        Args:
            path: Its path below the results.

        Returns:
            Where it is.

        Raises:
            NotHereError: It is not here.
        """
        if not (self.results / path).is_file():
            raise NotHereError(f"{path} is not here")
        return self.results / path

    def with_model_of_here(self, settings: S, keys: Sequence[str] = MODEL_PLACE) -> S:
        """Settings that find the model where the person who audits has it: results from elsewhere name no code to run.

        Args:
            settings: As the results say, a dataclass.
            keys: Names of the settings that say where the model is.

        Returns:
            The settings, with these as they are here.

        Raises:
            NotHereError: The system is not configured here.
        """
        if self.here is None or self.here.family != self.system.family:
            raise NotHereError(f"it is not known here where the model of {self.system.name} is; name it under custom.systems")
        return replace(settings, **{key: getattr(self.here.settings, key) for key in keys})

    def doc_ids(self, chunk: int) -> pa.Array:
        """The ids of the documents of a chunk."""
        return self._read(DOCUMENTS(dataset=self.dataset), chunk, ["doc_id"])["doc_id"].combine_chunks()

    def documents(self, chunk: int) -> pa.Table:
        """The documents of a chunk."""
        return self._read(DOCUMENTS(dataset=self.dataset), chunk)

    def judged(self) -> pa.Table:
        """Queries and the documents that are relevant to them."""
        qrels = pq.read_table(self.results / QRELS(dataset=self.dataset))
        return qrels.filter(pc.greater(qrels["score"], 0)).select(["query_id", "doc_id"])

    def draw_documents(self, sample: int, random: np.random.Generator) -> list[np.ndarray]:
        """Draw documents, half of them where forging pays: relevant ones, and the first hits of the run.

        Args:
            sample: Documents to draw.
            random: Draws them.

        Returns:
            Of each chunk the drawn rows, ascending, each once; in all at most ``sample``.
        """
        run = pq.read_table(self.results / RUN(system=self.system.name, dataset=self.dataset), columns=["doc_id", "rank"])
        hits = run.filter(pc.less_equal(run["rank"], FIRST_HITS))["doc_id"]
        ids = pc.unique(pa.chunked_array([*self.judged()["doc_id"].chunks, *hits.chunks], pa.string()))
        places, starts = [], [0]
        for chunk in range(self.chunks):
            doc_ids = self.doc_ids(chunk)
            places.append(np.flatnonzero(pc.is_in(doc_ids, value_set=ids).to_numpy(zero_copy_only=False)) + starts[-1])
            starts.append(starts[-1] + len(doc_ids))
        important = np.concatenate(places)
        chosen = important[draw(len(important), sample // 2, random)]
        others = np.setdiff1d(np.arange(starts[-1]), chosen)
        drawn = np.sort(np.concatenate([chosen, others[draw(len(others), sample - len(chosen), random)]]))
        parts = np.split(drawn, np.searchsorted(drawn, starts[1:-1]))
        return [part - start for part, start in zip(parts, starts[:-1], strict=True)]

    def take_documents(self, rows: Sequence[np.ndarray]) -> pa.Table:
        """Some documents.

        Args:
            rows: Of each chunk the wanted rows.

        Returns:
            The documents, chunk after chunk.
        """
        return pa.concat_tables([self.documents(chunk).take(pa.array(each)) for chunk, each in enumerate(rows) if len(each)])

    def queries(self) -> pa.Table:
        """The queries."""
        return pq.read_table(self.results / QUERIES(dataset=self.dataset))

    def _read(self, path: str, chunk: int, columns: list[str] | None = None) -> pa.Table:
        with pq.ParquetFile(self.results / path) as file:
            return file.read_row_group(chunk, columns)


SpotChecks = Callable[[Subject, int, np.random.Generator], list[SpotCheck]]
"""Plans the checks of one system on one corpus: how many texts or queries to sample, and what draws them."""


def draw(total: int, sample: int, random: np.random.Generator) -> np.ndarray:
    """Numbers of sampled items, ascending, each at most once; int64 of shape (min(sample, total),)."""
    return np.sort(random.choice(total, size=min(sample, total), replace=False))


def as_block(scores: Sequence[Mapping[str, float]]) -> tuple[pa.Array, np.ndarray]:
    """Scores of the documents of each query, as :func:`compare_ranks` takes them.

    Args:
        scores: Of each query, the scores by document.

    Returns:
        The ids of all these documents, and float64 of shape (queries, documents), minus infinity where a query has none.
    """
    ids = sorted({doc_id for found in scores for doc_id in found})
    table = [[found.get(doc_id, -np.inf) for doc_id in ids] for found in scores]
    return pa.array(ids, pa.string()), np.array(table, np.float64).reshape(len(scores), len(ids))


def compare_ranks(
    subject: Subject,
    query_ids: list[str],
    blocks: Iterable[tuple[pa.Array, np.ndarray]],
    slack: Callable[[], np.ndarray],
    expected: str = "exact search over all documents",
) -> Finding:
    """Compare the run of some queries with the scores of all documents.

    Args:
        subject: The system and the corpus.
        query_ids: The queries.
        blocks: Ids of the next documents, and the scores of all these queries for them, of shape (queries, documents); minus
            infinity where a document is not retrieved. Together all documents, each once.
        slack: How far two scores of each query may be apart, shape (queries,); asked once all blocks have been read.
        expected: What the run should agree with.

    Returns:
        Whether every query has as many documents as there are, up to the cut, each once and with its score, and none was left
        out that scores higher.
    """
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    ranks = _Ranks(subject, query_ids)
    for doc_ids, scores in blocks:
        ranks.add(doc_ids, scores)
    for number, (query, within) in enumerate(zip(query_ids, slack().tolist(), strict=True)):
        if problem := ranks.problem(number, within):
            return Finding(False, f"{path}: query {query!r} {problem}", expected)
    return Finding(True, f"{subject.system.name} on {subject.dataset}: {len(query_ids)} queries, every rank as in {path}")


class _Ranks:
    """The best scores of some queries so far, and the scores of the documents that their run has."""

    def __init__(self, subject: Subject, query_ids: list[str]) -> None:
        self.subject, self.query_ids = subject, pa.array(query_ids, pa.string())
        self._candidates: pa.Table | None = None
        if subject.own_candidates:
            self._candidates = pq.read_table(subject.file(QRELS(dataset=subject.dataset)))
        path = subject.results / RUN(system=subject.system.name, dataset=subject.dataset)
        run = pq.read_table(path, filters=[("query_id", "in", query_ids)]).sort_by(
            [("query_id", "ascending"), ("rank", "ascending")]
        )
        self._query = pc.index_in(run["query_id"].combine_chunks(), value_set=self.query_ids).to_numpy(zero_copy_only=False)
        self._doc_ids, self._recorded = run["doc_id"].combine_chunks(), run["score"].to_numpy()
        self._scores = np.full(run.num_rows, np.nan)
        self._best = np.empty((len(query_ids), 0))
        self._retrieved = np.zeros(len(query_ids), np.int64)

    def add(self, doc_ids: pa.Array, scores: np.ndarray) -> None:
        """Take in the scores of the next documents."""
        scores = scores.astype(np.float64)
        if self.subject.drop_self_matches:
            own = pc.fill_null(pc.index_in(self.query_ids, value_set=doc_ids), -1).to_numpy(zero_copy_only=False)
            scores[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
        if self._candidates is not None:
            for number, query in enumerate(self.query_ids.to_pylist()):
                own = self._candidates.filter(pc.equal(self._candidates["query_id"], query))["doc_id"].combine_chunks()
                scores[number, ~pc.is_in(doc_ids, value_set=own).to_numpy(zero_copy_only=False)] = -np.inf
        self._retrieved += (scores > -np.inf).sum(axis=1)
        place = pc.fill_null(pc.index_in(self._doc_ids, value_set=doc_ids), -1).to_numpy(zero_copy_only=False)
        here = np.flatnonzero(place >= 0)
        self._scores[here] = scores[self._query[here], place[here]]
        best = np.concatenate([self._best, scores], axis=1)
        keep = min(self.subject.top_k, best.shape[1])
        self._best = np.partition(best, best.shape[1] - keep, axis=1)[:, best.shape[1] - keep :]

    def problem(self, number: int, slack: float) -> str:
        """What is wrong with the ranks of a query; empty if nothing is."""
        rows = np.flatnonzero(self._query == number)
        expected = min(self.subject.top_k, int(self._retrieved[number]))
        if len(rows) != expected:
            return f"has {len(rows)} documents, expected {expected}"
        best = np.sort(self._best[number])[::-1].tolist()
        seen: set[str] = set()
        for rank, row in enumerate(rows.tolist()):
            doc_id, score, recorded = self._doc_ids[row].as_py(), float(self._scores[row]), float(self._recorded[row])
            if doc_id in seen:
                return f"has {doc_id!r} twice"
            seen.add(doc_id)
            if not abs(score - recorded) <= slack:
                return f"has the score {recorded!r} for {doc_id!r}, expected {score!r}"
            if best[rank] - score > slack:
                return f"has {doc_id!r} with the score {score!r} at rank {rank + 1}, expected one with {best[rank]!r}"
        return ""
