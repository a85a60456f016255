"""Recompute a sample of the results, by another path than the one that made them.

A family defines how its representations and scores are recomputed; this module has the parts that all share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.stats import hypergeom

from beirflow.core.layout import DOCUMENTS, QRELS, QUERIES, RUN
from beirflow.core.records import read_json, together
from beirflow.data.document_text import Kind
from beirflow.families.system import System

S = TypeVar("S", bound=Any)

MODEL_PLACE = ("model", "offline", "revision")  # settings that say where a model is
BLOCK_ROWS = 16_384  # documents of a chunk that are searched at a time

BESIDE = (-1, 1)
"""Distances in rank of the rivals of a relevant hit, which are drawn rather than others: to pass them costs least."""


class NotHereError(Exception):
    """An error that names something which is not here but needed by the check."""


class Finding(NamedTuple):
    """Result of one check."""

    passed: bool
    found: str  # what is the case
    expected: str = ""  # what should be; empty where "found" says it all
    drawn: tuple[int, int] | None = None  # number of documents or pairs that were made again, and of all; None for anything else


class SpotCheck(NamedTuple):
    """One check that can be made; ``run`` makes the sample again and compares it, and may raise :class:`NotHereError`."""

    name: str  # what is checked, as the audit shows it
    path: str  # the file or folder below the results that would be wrong
    run: Callable[[], Finding]


@dataclass(frozen=True)
class Subject:
    """One system on one corpus, of which a sample is recomputed, with the configuration of the person who audits."""

    results: Path  # folder of all results
    system: System  # as the results say
    here: System | None  # system of this name in the configuration, which says where its model is; None if there is none
    dataset: str  # name of the corpus
    made: dict[str, Any]  # what the run was made with, as its record says
    top_k: int  # documents that were kept for each query
    drop_self_matches: bool  # a document whose id is the query's id was dropped
    chunks: int  # number of chunks of the corpus
    config: dict[str, Any]  # "device", "token_budget", "jobs_per_gpu" and "precision" of the configuration
    row: str = ""  # dataset that a forum belongs to; empty for a corpus that is a dataset itself
    own_candidates: bool = False  # each query ranks only the documents that are judged for it
    main_measure: str = ""  # by which weights are tuned
    # The corpus of which this is another split or a sample, which names files of the user's own; empty for a whole one.
    whole: str = ""

    @property
    def name(self) -> str:
        """System and corpus, for a sentence."""
        return f"{self.system.name} on {self.dataset}"

    @property
    def settings_here(self) -> Any:
        """Settings of the system in the configuration of the person who audits; None if it is not configured."""
        return self.here.settings if self.here and self.here.family == self.system.family else None

    @property
    def computing(self) -> dict[str, Any]:
        """Device and token budget, as models are loaded with them."""
        return {"device": self.config["device"], "token_budget": self.config["token_budget"]}

    def precision(self, known: Mapping[str, float], records: Sequence[str] = (), *, own: bool = False) -> str:
        """Return the precision in which to recompute, which decides the tolerance.

        It is that of the run, or of some records behind it, since what one model wrote for another has its own; or a precision
        with a smaller tolerance that the person who audits configured, so that no label makes results look better.

        Args:
            known: The tolerance of a family, by precision.
            records: Paths below the results of records; none for the run.
            own: The model decides its precision, whatever is configured.

        Returns:
            One of these precisions.

        Raises:
            NotHereError: A record is not here.
            ValueError: It is none of these.
        """
        made = together([read_json(self.file(path))["made"] for path in records]) if records else self.made
        precision = made.get("precision")
        if not isinstance(precision, str) or precision not in known:
            raise ValueError(f"{records[0] if records else 'the run'} was made in the precision {precision!r}")
        configured = self.config.get("precision", "auto")
        return precision if own or configured == "auto" else min(precision, configured, key=known.__getitem__)

    def file(self, path: str) -> Path:
        """Return a file by its path below the results. Raises NotHereError if it is not here, or behind a link."""
        below = PurePosixPath(path)
        if any((self.results / part).is_symlink() for part in (below, *below.parents) if part.name):
            raise NotHereError(f"{path} is behind a link, which is not followed")
        if not (self.results / path).is_file():
            raise NotHereError(f"{path} is not here")
        return self.results / path

    def with_model_of_here(self, settings: S, keys: Sequence[str] = MODEL_PLACE) -> S:
        """Return settings that find the model where the person who audits has it: results from elsewhere name no code to run.

        Only the values of ``keys``, which say where the model is, are replaced. Raises NotHereError without the system here.
        """
        if self.settings_here is None:
            raise NotHereError(f"it is not known here where the model of {self.system.name} is; name it under custom.systems")
        return replace(settings, **{key: getattr(self.settings_here, key) for key in keys})

    def doc_ids(self, chunk: int) -> pa.Array:
        """Return the ids of the documents of a chunk."""
        return self._read(DOCUMENTS(dataset=self.dataset), chunk, ["doc_id"])["doc_id"].combine_chunks()

    def documents(self, chunk: int) -> pa.Table:
        """Return the documents of a chunk."""
        return self._read(DOCUMENTS(dataset=self.dataset), chunk)

    @cached_property
    def judged(self) -> pa.Table:
        """Pairs of a query and a document that is relevant to it."""
        qrels = pq.read_table(self.results / QRELS(dataset=self.dataset))
        return qrels.filter(pc.greater(qrels["score"], 0)).select(["query_id", "doc_id"])

    def relevant_to(self, own: str, ids: pa.Array, most: int) -> pa.Array:
        """Return the ids of queries that some documents are relevant to, or the reverse: each once, and not more than ``most``.

        ``own`` is the column of ``ids``: ``doc_id`` or ``query_id``.
        """
        return _of(self.judged, own, ids)[:most]

    def counterparts(self, own: str, ids: pa.Array, most: int) -> pa.Array:
        """Return the same, and as many ids of queries that have the documents among their hits, or the reverse."""
        return pc.unique(pa.concat_arrays([self.relevant_to(own, ids, most), _of(self.run.sort_by("rank"), own, ids)[:most]]))

    def pairs_among(self, own: str, ids: pa.Array, others: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the relevant pairs of ``ids``, of the column ``own``, and ``others``: their places, int64 of shape (pairs,)."""
        texts, places = places_in(self.judged, own, ids, others)
        both = (texts >= 0) & (places >= 0)
        return texts[both], places[both]

    @cached_property
    def run(self) -> pa.Table:
        """Query, document, score and rank of all hits."""
        return pq.read_table(self.file(RUN(system=self.system.name, dataset=self.dataset)))

    def queries_among(self, ids: pa.Array) -> tuple[pa.Array, np.ndarray]:
        """Return the ids and the rows of those of some queries that are here."""
        every = self.queries["query_id"].combine_chunks()
        rows = _rows_among(every, ids)
        return every.take(pa.array(rows)), rows

    def documents_among(self, ids: pa.Array) -> tuple[pa.Array, list[np.ndarray]]:
        """Return the ids of those of some documents that are here, chunk after chunk, and their rows in each chunk."""
        every = [self.doc_ids(chunk) for chunk in range(self.chunks)]
        rows = [_rows_among(doc_ids, ids) for doc_ids in every]
        return pa.concat_arrays([doc_ids.take(pa.array(here)) for doc_ids, here in zip(every, rows, strict=True)]), rows

    def draw_documents(self, sample: int, random: np.random.Generator, relevant: int | None = None) -> list[np.ndarray]:
        """Draw documents, half of them where forging pays: a sixth, or ``relevant``, relevant ones, and their rivals in the run.

        Returns the drawn rows of each chunk, ascending, each once.
        """
        run = self.run.sort_by([("query_id", "ascending"), ("rank", "ascending")])
        queries = run["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        are_relevant = self.are_relevant(run)
        ids = pc.unique(self.judged["doc_id"].combine_chunks())
        beside = rivals_of(queries, are_relevant, np.flatnonzero(are_relevant))
        rivals = pc.unique(run["doc_id"].combine_chunks().take(pa.array(beside)))
        chunks = [self.doc_ids(chunk) for chunk in range(self.chunks)]
        starts = np.cumsum([0, *map(len, chunks)])
        chosen = np.zeros(0, np.int64)
        for those, number in ((ids, sample // 6 if relevant is None else relevant), (rivals, sample // 2)):
            placed = zip(chunks, starts[:-1], strict=True)
            rows = np.concatenate([_rows_among(doc_ids, those) + start for doc_ids, start in placed])
            rows = np.setdiff1d(rows, chosen)
            chosen = np.union1d(chosen, rows[draw(len(rows), number - len(chosen), random)])
        # The rest from all others, so that no document is safe from being drawn.
        others = np.setdiff1d(np.arange(starts[-1]), chosen)
        drawn = np.union1d(chosen, others[draw(len(others), sample - len(chosen), random)])
        parts = np.split(drawn, np.searchsorted(drawn, starts[1:-1]))
        return [part - start for part, start in zip(parts, starts[:-1], strict=True)]

    def are_relevant(self, pairs: pa.Table) -> np.ndarray:
        """Test for each pair of ``query_id`` and ``doc_id`` that the document is relevant to the query."""
        those, judged = (
            pc.binary_join_element_wise(each["query_id"], each["doc_id"], "\t").combine_chunks() for each in (pairs, self.judged)
        )
        return np.asarray(pc.is_in(those, value_set=judged).to_numpy(zero_copy_only=False))

    def draw_queries(self, sample: int, random: np.random.Generator) -> tuple[pa.Table, np.ndarray]:
        """Draw at most so many queries; returns them, and their rows, which ascend."""
        queries = self.queries
        rows = draw(queries.num_rows, sample, random)
        return queries.take(pa.array(rows)), rows

    def take_documents(self, rows: Sequence[np.ndarray]) -> pa.Table:
        """Return the documents at some rows of each chunk, chunk after chunk."""
        return pa.concat_tables([self.documents(chunk).take(pa.array(each)) for chunk, each in enumerate(rows) if len(each)])

    @property
    def number_of_documents(self) -> int:
        """Number of documents of the corpus."""
        return int(pq.read_metadata(self.results / DOCUMENTS(dataset=self.dataset)).num_rows)

    @cached_property
    def queries(self) -> pa.Table:
        """All queries, with what they state."""
        return pq.read_table(self.results / QUERIES(dataset=self.dataset))

    def _read(self, path: str, chunk: int, columns: list[str] | None = None) -> pa.Table:
        with pq.ParquetFile(self.results / path) as file:
            return file.read_row_group(chunk, columns)


UNLIKELY = 1e-4  # probability below which another number of cut texts is no chance

SpotChecks = Callable[[Subject, int, np.random.Generator], list[SpotCheck]]
"""Plans the checks of one system on one corpus: how many texts or queries to sample, and what draws them."""


@lru_cache(maxsize=2)  # that of documents and that of queries, which one corpus after the other needs
def loaded_model(load: Callable[..., Any], settings: Any, *kind: Kind, **on: Any) -> Any:
    """Load a model by a function of its family, or return it if it is one of the last two."""
    return load(settings, *kind, **on)


def places_in(pairs: pa.Table, own: str, ids: pa.Array, others: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of pairs in ``ids``, of the column ``own``, and in ``others``; int64 of shape (pairs,), -1 if absent."""
    found = pc.index_in(pairs[own], value_set=ids), pc.index_in(pairs[_other(own)], value_set=others)
    texts, places = (pc.fill_null(each, -1).to_numpy().astype(np.int64) for each in found)
    return texts, places


def rivals_of(queries: np.ndarray, relevant: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Find hits beside some relevant ones that are not relevant themselves.

    As many are before as behind, so that selection by stored scores favours no direction.

    Args:
        queries: Query of each hit; hits of a query follow each other, best first; shape (hits,).
        relevant: Relevance of each hit.
        chosen: Rows of some relevant hits.

    Returns:
        Rows of the rivals, ascending.
    """
    near, own = (chosen[:, None] + np.array(BESIDE)).ravel(), np.repeat(chosen, len(BESIDE))
    inside = (near >= 0) & (near < len(queries))
    near, own = near[inside], own[inside]
    return np.unique(near[(queries[near] == queries[own]) & ~relevant[near]])


def _of(pairs: pa.Table, own: str, ids: pa.Array) -> pa.Array:
    """Return the counterparts of some ids in some pairs, each once."""
    return pc.unique(pairs.filter(pc.is_in(pairs[own], value_set=ids))[_other(own)])


def _other(own: str) -> str:
    return "query_id" if own == "doc_id" else "doc_id"


def _rows_among(every: pa.Array, ids: pa.Array) -> np.ndarray:
    """Return the rows of values that are among some ids."""
    return np.flatnonzero(pc.is_in(every, value_set=ids).to_numpy(zero_copy_only=False))


def compare_distances(
    found: str, distances: np.ndarray, unit: str, tolerance: Mapping[str, float], precision: str, name_of: Callable[[int], str]
) -> Finding:
    """Check that no recomputed value, named by ``name_of``, is further from the stored one than the tolerance of the precision.

    Returns the finding, which names the largest distance; where it is too large, also its value. Without a value it passes.
    """
    if not len(distances):
        return Finding(True, found, f"at most {tolerance[precision]:.0e} in {precision}")
    worst, largest = int(np.argmax(distances)), tolerance[precision]
    found = f"{found}, at most {distances[worst]:.1e}{unit} apart"
    passed = bool(distances[worst] <= largest)
    return Finding(passed, found if passed else f"{found}, {name_of(worst)}", f"at most {largest:.0e} in {precision}")


def compare_counts(name: str, what: str, cut: tuple[int, int], recorded: tuple[int, int]) -> Finding:
    """Test whether as many of the drawn texts were cut as the record of all of them makes likely; exactly, if all were drawn.

    Args:
        name: The system and corpus.
        what: Documents or pairs.
        cut: Number of the drawn texts that were cut, and number of those that were drawn, at random.
        recorded: Number of all texts that were cut, by their record, and of all texts.

    Returns:
        The finding, from a hypergeometric test.
    """
    (some, drawn), (stated, every) = cut, recorded
    found = f"{name}: {some} of {drawn} {what} are as long as the model reads, so probably cut"
    expected = f"{stated} of {every}, by the record"
    if not 0 <= stated <= every:
        return Finding(False, found, expected)
    if not drawn:
        return Finding(True, found, expected)
    chance = hypergeom(every, stated, drawn)
    likely = 2 * min(float(chance.cdf(some)), float(chance.sf(some - 1)))
    return Finding(likely >= UNLIKELY, found, expected)


def draw(total: int, sample: int, random: np.random.Generator) -> np.ndarray:
    """Return the numbers of sampled items, ascending, each at most once; int64 of shape (min(sample, total),)."""
    return np.sort(random.choice(total, size=min(sample, total), replace=False))
