"""Check of the stored weights of a sparse system: sampled texts are weighed again by the model, in other batches."""

from typing import Any

import numpy as np

from beirflow.core.layout import QUERY_WEIGHTS, QUERY_WEIGHTS_RECORD, TERM_WEIGHTS
from beirflow.data.document_text import Kind
from beirflow.families.expansions.spot_check import expansion_checks, stored_expansion
from beirflow.families.postings.analyzer import analyze
from beirflow.families.sparse.files import Rows, quantized, read_segments
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.model_folders import model_folders
from beirflow.families.sparse.run_check import SparseRunCheck
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigher import WINDOW_TEXTS, Weigher
from beirflow.families.spot_checks.representation_check import CUT, RepresentationCheck, TextSample
from beirflow.families.spot_checks.spot_check import MODEL_PLACE, Finding, SpotCheck, Subject, compare_distances

TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Largest length of the difference of two texts' weights, relative to the stored ones, by precision."""

ROUNDING = 2.0  # further difference of integer weights: one that is rounded to the other side, in each of some terms


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a sparse system on one corpus: of its weights, and of what a model has added to the documents."""
    weights = TermWeightCheck(subject, subject.system.settings, sample, random)
    return [*expansion_checks(subject, sample, random, analyze), *weights.checks()]


class TermWeightCheck(SparseRunCheck, RepresentationCheck[Rows]):
    """The checks of the weights of one system for one corpus."""

    made = "weighed", "weights"
    of_queries, of_chunk = QUERY_WEIGHTS, TERM_WEIGHTS
    tolerance = TOLERANCE

    @property
    def precision(self) -> str:
        """Precision of the weights, without that of queries that another model has written."""
        return self.subject.precision(TOLERANCE, [QUERY_WEIGHTS_RECORD(**self.names)])  # a search compares it with every chunk's

    def represent(self, sample: TextSample[Rows]) -> Rows:
        """Weigh the texts again."""
        windows = self.model(sample.kind).windows(sample.texts, sample.kind, self._added(sample))
        return quantized(Rows.together(list(windows)), self.settings.quantize)

    def cut(self) -> int | None:
        """Return the number of documents that the weigher has cut so far; None if it counts texts and expansions apart."""
        return self.model("documents").counts("documents").get(CUT)

    @staticmethod
    def load(settings: SparseSettings, kind: Kind, **on: Any) -> Weigher:
        """Load the weigher."""
        return Weigher(settings.name, read_parts(settings, *model_folders(settings)).of(kind), **on)

    def model_settings(self) -> SparseSettings:
        """Return the settings with the auditor's model."""
        return self.subject.with_model_of_here(self.settings, [*MODEL_PLACE, "query_model", "query_revision"])

    def batch_of(self, texts: TextSample[Any], row: int) -> np.ndarray:
        """Return the rows of the texts of a batch."""
        start = row - row % WINDOW_TEXTS
        window = texts.part(slice(start, start + WINDOW_TEXTS))
        return start + np.asarray(self.model(texts.kind).batch_of(window.texts, self._added(window), row - start))

    def told_apart_by(self, texts: TextSample[Any]) -> list[str]:
        """Return the texts, with the additions to each."""
        added = self._added(texts)
        return [*map("\0".join, zip(texts.texts, added, strict=True))] if added else texts.texts

    def _added(self, sample: TextSample[Any]) -> list[str] | None:
        """Read the queries that are added to each document; None if there are none."""
        if sample.kind == "queries" or not self.settings.added:
            return None
        chunks = (stored_expansion(self.subject, self.settings.added, *chunk) for chunk in enumerate(sample.rows))
        return [" ".join(queries) for chunk in chunks for queries in chunk]

    def compare(self, sample: TextSample[Rows], again: Rows) -> Finding:
        """Compare the weights of each text."""
        stored, recomputed = (_spread(rows, _width(sample.stored, again)) for rows in (sample.stored, again))
        slack = 0.0 if self.settings.quantize == "none" else ROUNDING
        lengths = np.maximum(np.linalg.norm(stored, axis=1), 1e-30)  # a text may have no terms
        apart = np.maximum(np.linalg.norm(recomputed - stored, axis=1) - slack, 0) / lengths
        compared, unit = f"{self.subject.name}: {len(apart)} {sample.kind}", " of the length of their weights"
        return compare_distances(compared, apart, unit, TOLERANCE, self.precision, lambda worst: repr(sample.ids[worst]))

    def scores(self, queries: Rows, documents: Rows) -> np.ndarray:
        """Score documents for queries."""
        asked, stored = self._both(queries, documents)
        return np.asarray(asked @ stored.T)

    def lengths(self, queries: Rows, documents: Rows) -> np.ndarray:
        """Return the products of the lengths of both."""
        return np.outer(*(np.linalg.norm(each, axis=1) for each in self._both(queries, documents)))

    def slack(self, queries: Rows, documents: Rows) -> np.ndarray:
        """Return how far scores may change where the weights of both texts change as :meth:`compare` allows."""
        if self.settings.quantize == "none":
            return super().slack(queries, documents)
        own, others = (np.linalg.norm(each, axis=1) for each in self._both(queries, documents))
        within, rounding = TOLERANCE[self.precision], ROUNDING
        return np.outer(own * (1 + within) + rounding, others * (1 + within) + rounding) - np.outer(own, others)

    def _both(self, queries: Rows, documents: Rows) -> list[np.ndarray]:
        return [_spread(rows, _width(queries, documents)) for rows in (queries, documents)]

    def stored_chunk(self, chunk: int, rows: np.ndarray) -> Rows:
        """Read the weights of some documents of a chunk."""
        first, parts = 0, []
        for segment in read_segments(self.path(TERM_WEIGHTS, chunk=chunk), self.settings.quantize):
            here = rows[(rows >= first) & (rows < first + segment.documents)] - first
            places = np.flatnonzero(np.isin(segment.rows, here))
            terms = segment.terms[np.searchsorted(segment.starts, places, side="right") - 1].astype(np.int64)
            text = np.searchsorted(here, segment.rows[places])
            parts.append(Rows.of(len(here), text, terms, segment.weights[places].astype(np.float32)))
            first += segment.documents
        return Rows.together(parts)

    def join(self, parts: list[Rows]) -> Rows:
        """Join the weights of several parts."""
        return Rows.together(parts)


def _width(*texts: Rows) -> int:
    """Return the number after the last term of some texts."""
    return int(max(rows.terms.max(initial=0) for rows in texts)) + 1


def _spread(rows: Rows, width: int) -> np.ndarray:
    """Return the weights of the first ``width`` terms, float64 of shape (texts, width)."""
    spread = np.zeros((len(rows.counts), width))
    texts, known = np.repeat(np.arange(len(rows.counts)), rows.counts), rows.terms < width
    spread[texts[known], rows.terms[known]] = rows.weights[known]
    return spread
