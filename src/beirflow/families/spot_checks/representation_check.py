"""Check what a model made of texts, and the run that was searched in it, on a sample.

Texts are represented again by the real model, in other batches than before; sampled queries are searched again in all that is
stored, without the code that searched. A family supplies how it reads, makes and compares its representations.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.layout import RUN, record_of
from beirflow.core.patterns import Pattern
from beirflow.core.records import read_json
from beirflow.data.document_text import KINDS, Kind, as_read
from beirflow.families.spot_checks.compared_ranks import SearchCheck, compare_ranks
from beirflow.families.spot_checks.drift import (
    LEAST_DRIFT,
    MOST_OTHERS,
    drift_of_measure,
    drift_of_scores,
    drift_over_rivals,
    unless_moved,
)
from beirflow.families.spot_checks.same_bits import Model, Part, same_bits
from beirflow.families.spot_checks.spot_check import (
    Finding,
    NotHereError,
    SpotCheck,
    Subject,
    compare_counts,
    draw,
    loaded_model,
    places_in,
)
from beirflow.run.gpu_job import gpu_job

R = TypeVar("R")

CUT = "truncated_documents"  # count, in a record, of different texts of documents that were cut


class TextSample(NamedTuple, Generic[R]):
    """Sampled documents or queries."""

    kind: Kind
    ids: list[str]
    texts: list[str]  # as models read them
    rows: list[np.ndarray]  # of documents those of each chunk, of queries one array
    stored: R  # their stored representations

    def part(self, numbers: np.ndarray | slice) -> "TextSample[Any]":
        """Return some of the texts, all of which are of one chunk, without their representations."""
        ids, texts = (np.array(each, object)[numbers].tolist() for each in (self.ids, self.texts))
        return TextSample(self.kind, ids, texts, [*self.rows[:-1], self.rows[-1][numbers]], None)


class RepresentationCheck(SearchCheck, Generic[R]):
    """The checks of one system on one corpus: documents and queries represented again, queries searched again."""

    made: ClassVar[tuple[str, str]]  # participle and noun of the names of the checks, such as "encoded" and "vectors"
    of_queries: ClassVar[Pattern]  # path of the representations of queries
    of_chunk: ClassVar[Pattern]  # the same of a chunk of documents
    load: ClassVar[Callable[..., Model]]  # loads the model of a kind of text, with settings, precision, device and token budget
    tolerance: ClassVar[Mapping[str, float]]  # by precision, the largest distance of a stored and a recomputed representation
    least_drift: ClassVar[Mapping[str, float]] = LEAST_DRIFT  # by precision, the smallest mean change that is a drift
    most_others: ClassVar[int] = MOST_OTHERS  # counterparts of the sampled texts whose scores are compared

    def checks(self) -> list[SpotCheck]:
        """Plan the checks."""
        participle, noun = self.made
        folder = self.of_queries(**self.names).rpartition("/")[0]
        run = RUN(system=self.subject.system.name, dataset=self.subject.dataset)
        again = f"{participle} again have the stored {noun}"
        chunks = (self.of_chunk(**self.names, chunk=chunk) for chunk in range(self.subject.chunks))
        are_here = all((self.subject.results / path).is_file() for path in (self.of_queries(**self.names), *chunks))
        return [
            SpotCheck(f"documents {again}", folder, partial(self.check, "documents")),
            SpotCheck(f"queries {again}", folder, partial(self.check, "queries")),
            *(SpotCheck(f"batches of {kind} {again}, bit for bit", folder, partial(self.check_bits, kind)) for kind in KINDS),
            *([SpotCheck("as many documents are cut as recorded", folder, self.check_cut)] if self._counts_cut() else []),
            *([] if are_here else [SpotCheck(f"hits {participle} again have the recorded scores", run, self.check_hits)]),
        ]

    def check(self, kind: Kind) -> Finding:
        """Represent some documents or queries again, and compare them with what is stored."""
        sample = self._sample_documents() if kind == "documents" else self._sample_queries()
        with on_device(self.subject):
            again = self.represent(sample)
        finding = self.compare(sample, again)
        if kind == "documents":
            finding = finding._replace(drawn=(len(sample.ids), self.subject.number_of_documents))
        return self._check_drift(sample, again, finding) if finding.passed else finding

    def check_hits(self) -> Finding:
        """Compare the run with scores of sampled documents and their queries that are represented again; nothing stored is read.

        Returns:
            The finding.

        Raises:
            NotHereError: No sampled document is relevant to a query or a hit.
        """
        drawn = self._sample_documents(is_stored=False)
        doc_ids = pa.array(drawn.ids, pa.string())
        query_ids, rows = self.subject.queries_among(self.subject.counterparts("doc_id", doc_ids, self.sample))
        if not len(query_ids):
            raise NotHereError("no sampled document is relevant to a query or a hit")
        texts = self.subject.queries.take(pa.array(rows))["text"].to_pylist()
        asked: TextSample[Any] = TextSample("queries", query_ids.to_pylist(), texts, [rows], None)
        with on_device(self.subject):
            documents, queries = self.represent(drawn), self.represent(asked)
        scores, lengths = self.scores(queries, documents), self.lengths(queries, documents)
        within = np.broadcast_to(self.slack(queries, documents), scores.shape).max(axis=1)
        expected = f"that of texts {self.made[0]} again, at most {within.max():.1e} apart in {self.precision}"
        finding = compare_ranks(self.subject, asked.ids, [(doc_ids, scores)], lambda: within, expected=expected, whole=False)
        hits = self.subject.run
        hits = hits.filter(pc.is_in(hits["query_id"], value_set=query_ids))
        places, of_drawn = places_in(hits, "query_id", query_ids, doc_ids)
        both = of_drawn >= 0
        pairs = (places[both], of_drawn[both])
        relative = np.zeros(scores.shape)
        relative[pairs] = (hits["score"].to_numpy()[both] - scores[pairs]) / np.broadcast_to(
            np.maximum(lengths, 1e-30), scores.shape
        )[pairs]
        are_relevant = self.subject.are_relevant(hits)[both]
        relevant = (pairs[0][are_relevant], pairs[1][are_relevant])
        again = np.where(both, scores[places, of_drawn], np.nan)
        return unless_moved(
            finding,
            drift_over_rivals(relative, relevant, pairs, 1, self.least_drift[self.precision]),
            drift_of_measure(self.subject, hits, again, np.maximum(of_drawn, 0)),
        )

    def slack(self, queries: R, documents: R) -> np.ndarray:
        """Return how far scores may change where both representations change by the tolerance; shape as of :meth:`lengths`."""
        within = self.tolerance[self.precision]
        return (2 * within + within**2) * self.lengths(queries, documents)

    def check_bits(self, kind: Kind) -> Finding:
        """Represent some batches of queries or documents again as they were. Raises NotHereError in another computation."""
        if kind == "queries":
            drawn = [np.arange(self.subject.queries.num_rows)]
        else:
            drawn = self.subject.draw_documents(self.sample, self.random)
        sizes = np.array([len(rows) for rows in drawn])
        order = np.argsort(-self.random.random(len(drawn)) * sizes)  # a chunk with more of them is likelier first
        parts = (self._part(kind, int(chunk), drawn[chunk]) for chunk in order[: np.count_nonzero(sizes)])
        with on_device(self.subject):
            return same_bits(self.subject, parts, self.sample)

    def _counts_cut(self) -> bool:
        """Test whether the records count documents that were cut; true also where they are not here."""
        path = self.subject.results / record_of(self.of_chunk(**self.names, chunk=0))
        return not path.is_file() or CUT in read_json(path).get("counts", {})

    def check_cut(self) -> Finding:
        """Count the documents that the model cuts among drawn ones, chunk by chunk, and compare with the records.

        Returns:
            The finding on the first chunk with another number, or on all that were looked at.

        Raises:
            NotHereError: Vectors were reused, so that nobody counted them, or the model does not count.
        """
        sizes = np.array([len(self.subject.doc_ids(chunk)) for chunk in range(self.subject.chunks)])
        left, finding = min(self.sample, int(sizes.sum())), Finding(True, f"{self.subject.name}: no documents")
        order = np.argsort(-self.random.random(len(sizes)) * sizes)  # a larger chunk is likelier first
        for chunk in order[: np.count_nonzero(sizes)].tolist():
            record_path = record_of(self.of_chunk(**self.names, chunk=chunk)).as_posix()
            counts = read_json(self.subject.file(record_path)).get("counts", {})
            if CUT not in counts or "documents_reused" in counts:
                raise NotHereError(f"{record_path} does not count all documents that were cut")
            distinct, _ = self._distinct("documents", chunk)
            drawn = draw(len(distinct.ids), left, self.random)
            before = self.cut()
            if before is None:
                raise NotHereError("the model does not count the texts that it cuts")
            with on_device(self.subject):
                self.represent(distinct.part(drawn))
            cut = (self.cut() or 0) - before
            finding = compare_counts(self.subject.name, "documents", (cut, len(drawn)), (counts[CUT], len(distinct.ids)))
            left -= len(drawn)
            if left <= 0 or not finding.passed:
                break
        return finding

    def cut(self) -> int | None:
        """Return the number of documents that the model has cut so far; None if it does not count them."""
        cut: int | None = self.model("documents").truncated
        return cut

    def _part(self, kind: Kind, chunk: int, drawn: np.ndarray) -> Part:
        """Read the texts of the queries, or of a chunk, as they were represented: equal ones once."""
        path = self.of_queries(**self.names) if kind == "queries" else self.of_chunk(**self.names, chunk=chunk)
        distinct, numbers = self._distinct(kind, chunk)

        def is_same(batch: np.ndarray) -> bool:
            part = distinct.part(batch)
            stored = self.stored_queries(part.rows[0]) if kind == "queries" else self._stored_documents(part.rows)
            both = (each if isinstance(each, tuple) else (each,) for each in (stored, self.represent(part)))
            return all(map(np.array_equal, *both))

        wanted = self.random.permutation(numbers[drawn]).tolist()
        return Part(path, partial(self.model, kind), wanted, partial(self.batch_of, distinct), is_same, distinct.ids)

    def _distinct(self, kind: Kind, chunk: int) -> tuple[TextSample[Any], np.ndarray]:
        """Return the texts of the queries, or of a chunk, equal ones once, and for each row the number of its text."""
        table = self.subject.queries if kind == "queries" else as_read(self.subject.documents(chunk), self.separator)
        rows = [np.zeros(0, np.int64)] * chunk + [np.arange(table.num_rows)]
        ids, texts = (table[name].to_pylist() for name in ("query_id" if kind == "queries" else "doc_id", "text"))
        every = TextSample(kind, ids, texts, rows, None)
        numbers = pa.array(self.told_apart_by(every)).dictionary_encode().indices.to_numpy()
        return every.part(np.unique(numbers, return_index=True)[1]), numbers

    def model(self, kind: Kind) -> Any:
        """Return the model of a kind of text."""
        return loaded_model(self.load, self.model_settings(), kind, precision=self.model_precision, **self.subject.computing)

    def told_apart_by(self, texts: TextSample[Any]) -> list[str]:
        """Return what tells texts apart, of which equal ones are represented once."""
        return texts.texts

    def _check_drift(self, sample: TextSample[R], again: R, finding: Finding) -> Finding:
        """Fail the check if scores of relevant pairs moved or those of rivals moved in one direction, or raised the measure."""
        of_documents = sample.kind == "documents"
        own, ids = "doc_id" if of_documents else "query_id", pa.array(sample.ids, pa.string())
        counterparts = self.subject.counterparts(own, ids, self.most_others)
        if of_documents:
            other_ids, rows = self.subject.queries_among(counterparts)
        else:
            other_ids, rows_of_chunks = self.subject.documents_among(counterparts)
        if len(other_ids) < 2:
            return finding
        others = self.stored_queries(rows) if of_documents else self._stored_documents(rows_of_chunks)
        stored, recomputed = (
            self.scores(others, each).T if of_documents else self.scores(each, others) for each in (sample.stored, again)
        )
        lengths = self.lengths(others, sample.stored).T if of_documents else self.lengths(sample.stored, others)
        changes = stored - recomputed
        relative = changes / np.maximum(lengths, 1e-30)
        relevant = self.subject.pairs_among(own, ids, other_ids)
        run = self.subject.run
        hits = run.filter(pc.is_in(run["query_id"], value_set=other_ids if of_documents else ids))
        texts, places = places_in(hits, own, ids, other_ids)
        both = (texts >= 0) & (places >= 0)
        rivals, documents = (texts[both], places[both]), 0 if of_documents else 1
        again_scores = np.where(both, hits["score"].to_numpy() - changes[texts, places], np.nan)
        least = self.least_drift[self.precision]
        return unless_moved(
            finding,
            drift_of_scores(relative, *relevant, least),
            drift_over_rivals(relative, relevant, rivals, documents, least),
            drift_of_measure(self.subject, hits, again_scores, np.maximum(texts, 0)),
        )

    def _sample_documents(self, *, is_stored: bool = True) -> TextSample[Any]:
        rows = self.subject.draw_documents(self.sample, self.random)
        table = as_read(self.subject.take_documents(rows), self.separator)
        stored = self._stored_documents(rows) if is_stored else None
        return TextSample("documents", table["doc_id"].to_pylist(), table["text"].to_pylist(), rows, stored)

    def _sample_queries(self) -> TextSample[R]:
        table, rows = self.subject.draw_queries(self.sample, self.random)
        ids, texts = table["query_id"].to_pylist(), table["text"].to_pylist()
        return TextSample("queries", ids, texts, [rows], self.stored_queries(rows))

    def _stored_documents(self, rows: list[np.ndarray]) -> R:
        """Read the representations of some documents of each chunk."""
        return self.join([self.stored_chunk(chunk, chosen) for chunk, chosen in enumerate(rows) if len(chosen)])

    @property
    def separator(self) -> str | None:
        """Separator of title and text; None for the space that is stored."""
        return None

    @property
    def precision(self) -> str:
        """Precision in which the texts were represented."""
        return self.subject.precision(self.tolerance)

    @abstractmethod
    def stored_queries(self, rows: np.ndarray) -> R:
        """Read the representations of some queries, whose rows ascend."""

    @abstractmethod
    def stored_chunk(self, chunk: int, rows: np.ndarray) -> R:
        """Read the representations of some documents of a chunk, whose rows ascend."""

    @abstractmethod
    def join(self, parts: list[R]) -> R:
        """Join the representations of several parts, at least one."""

    @property
    def model_precision(self) -> str:
        """Precision in which the model is asked to compute."""
        return self.precision

    @abstractmethod
    def model_settings(self) -> Any:
        """Return the settings that the model is loaded with. Raises NotHereError if its place is not known."""

    @abstractmethod
    def batch_of(self, texts: TextSample[Any], row: int) -> np.ndarray:
        """Return the rows, ascending, of all texts that are represented in one batch with one of them."""

    @abstractmethod
    def represent(self, sample: TextSample[R]) -> R:
        """Represent the texts again with the model."""

    @abstractmethod
    def compare(self, sample: TextSample[R], again: R) -> Finding:
        """Compare stored and recomputed representations."""

    @abstractmethod
    def scores(self, queries: R, documents: R) -> np.ndarray:
        """Score documents for queries as a search does, but for the last rounding; float64 of shape (queries, documents)."""

    @abstractmethod
    def lengths(self, queries: R, documents: R) -> np.ndarray:
        """Return the size to which changes of these scores are relative, of the same shape, or one that broadcasts to it."""


def on_device(subject: Subject) -> AbstractContextManager[None]:
    """Return the context of a job's computation: on a GPU of its own, where there is one."""
    return gpu_job(subject.config["device"], subject.config["jobs_per_gpu"])
