"""Does the expansion follow from the texts? The real model makes a sample again, in other batches."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.expansions.files import stored_rows
from beirflow.expansions.sampler import drawn as drawn_documents
from beirflow.expansions.settings import Expansion, WrittenQueries
from beirflow.expansions.word_weigher import WordWeigher
from beirflow.expansions.writer import QueryWriter
from beirflow.files.layout import EXPANSION, EXPANSION_RECORD
from beirflow.jobs.gpu_job import gpu_job
from beirflow.models.model_places import model_folder
from beirflow.runs.drift import Drift, drift_of_scores, unless_moved
from beirflow.runs.spot_check import MODEL_PLACE, Finding, NotHereError, SpotCheck, Subject, draw

OTHER_QUERIES = {"float32": 0.02, "float16": 0.5, "bfloat16": 0.5}
"""By precision, the part of the queries that may be others: those where a draw falls between two roundings of a probability."""

MOST_DOCUMENTS = 16
"""That queries are written for again: each takes a second of a CPU."""

TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""By precision, the length of the difference of a document's weights over the length of the stored ones."""

LEAST_DRIFT = {"float32": 5e-6, "float16": 1e-4, "bfloat16": 1e-3}
"""By precision, how far weights of the words of queries may move in one direction in documents that are relevant to them."""

LEAST_DRIFT_OF_QUERIES = 1e-2
"""The same of written queries, of which a word is a large part."""

MOST_OTHERS = 200
"""Queries whose words are looked for."""


class _Change(NamedTuple):
    """What is added to a document, or one of the queries that are: the weights of its words, as stored and as made again."""

    document: int
    stored: Mapping[str, float]
    found: Mapping[str, float]


def expansion_checks(subject: Subject, added: Expansion, here: Expansion | None, sample: int, random: Any) -> list[SpotCheck]:
    """Plan the check of an expansion on one corpus.

    Args:
        subject: The system and the corpus.
        added: The expansion, as the results say.
        here: The expansion of the system in the configuration of the person who audits, which says where its model is.
        sample: Documents to draw.
        random: Draws them.

    Returns:
        One check, or none where the expansion comes from files.
    """
    if added.path is not None:
        return []
    again = _Again(subject, added, here, sample, random)
    names = {"queries": "queries written again are the stored ones", "weights": "words weighed again have the stored weights"}
    folder = EXPANSION.folder(expansion=added.name, dataset=subject.dataset).rstrip("/")
    return [SpotCheck(names[added.kind], folder, partial(again.check))]


class _Again:
    """The expansion of one corpus, and what is drawn of it."""

    def __init__(self, subject: Subject, added: Expansion, here: Expansion | None, sample: int, random: Any) -> None:
        self.subject, self.added, self.here, self.sample, self.random = subject, added, here, sample, random

    def check(self) -> Finding:
        """Make what is added to some documents again, and compare it with what is stored."""
        ids, texts, stored = self._drawn()
        remade = self._make(ids, texts)
        of_queries = self.added.kind == "queries"
        finding = (self._compare_queries if of_queries else self._compare_weights)(ids, stored, remade)
        changes = _other_queries(stored, remade) if of_queries else _as_changes(stored, remade)
        least = LEAST_DRIFT_OF_QUERIES if of_queries else LEAST_DRIFT[self._precision]
        return unless_moved(finding, self._drift(ids, changes, least))

    def _compare_queries(self, ids: list[str], stored: list[Any], found: list[Any]) -> Finding:
        queries = sum(max(len(before), len(after)) for before, after in zip(stored, found, strict=True))
        others, within = len(_other_queries(stored, found)), OTHER_QUERIES[self._precision]
        said = f"{self.subject.name}: {len(ids)} documents, {others} of {queries} queries are others"
        return Finding(others / max(1, queries) <= within, said, f"at most {within:.0%} in {self._precision}")

    def _compare_weights(self, ids: list[str], stored: list[Any], found: list[Any]) -> Finding:
        apart = [_apart(dict(before), dict(after)) for before, after in zip(stored, found, strict=True)]
        worst, within = int(np.argmax(apart)), TOLERANCE[self._precision]
        said = f"{self.subject.name}: {len(ids)} documents, weights at most {apart[worst]:.1e} of their length apart"
        passed = apart[worst] <= within
        return Finding(passed, said if passed else f"{said}, {ids[worst]!r}", f"at most {within:.0e} in {self._precision}")

    def _drift(self, ids: list[str], changes: list[_Change], least: float) -> Drift | None:
        """Whether what is added moved towards the words of the queries to which its documents are relevant."""
        doc_ids = pa.array(ids, pa.string())
        there, rows = self.subject.queries_among(self.subject.relevant_to("doc_id", doc_ids, MOST_OTHERS))
        asked = [_words(text) for text in self.subject.queries()["text"].take(pa.array(rows)).to_pylist()]
        pairs = list(zip(*self.subject.pairs_among("doc_id", doc_ids, there), strict=True))
        own = [(row, column) for row, change in enumerate(changes) for document, column in pairs if document == change.document]
        moved = [[_score(change, words) for words in asked] for change in changes]
        places = np.array(own, np.int64).reshape(-1, 2)
        return drift_of_scores(np.array(moved).reshape(len(changes), len(asked)), places[:, 0], places[:, 1], least)

    def _drawn(self) -> tuple[list[str], list[str], list[Any]]:
        """Ids and texts of some documents, and what is stored for each: queries, or pairs of a word and its weight."""
        sample = min(self.sample, MOST_DOCUMENTS) if self.added.kind == "queries" else self.sample
        drawn = self._rows(sample)
        stored: list[Any] = []
        for chunk, rows in enumerate(drawn):
            path = self.subject.file(EXPANSION(expansion=self.added.name, dataset=self.subject.dataset, chunk=chunk))
            stored += stored_rows(path, self.added.kind, pa.array(rows))
        table = self.subject.take_documents(drawn)
        return table["doc_id"].to_pylist(), table["text"].to_pylist(), stored

    def _rows(self, sample: int) -> list[np.ndarray]:
        """Of each chunk rows of some documents; where queries were written only for some that were drawn, of some of these."""
        added, ids = self.added, [self.subject.doc_ids(chunk).to_pylist() for chunk in range(self.subject.chunks)]
        if not isinstance(added, WrittenQueries) or added.documents is None or added.documents >= sum(map(len, ids)):
            return self.subject.draw_documents(sample, self.random)
        those = np.flatnonzero(drawn_documents(added.seed, list(chain.from_iterable(ids)), added.documents))
        rows, ends = those[draw(len(those), sample, self.random)], np.cumsum([len(each) for each in ids])
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        return [part - (end - len(each)) for part, end, each in zip(parts, ends, ids, strict=True)]

    def _make(self, ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
        name, config = self.subject.system.name, self.subject.config
        if self.here is None or self.here.kind != self.added.kind or self.here.path is not None:
            raise NotHereError(f"it is not known here where the model of {name} is; name it under custom.systems")
        place = {key: getattr(self.here, key) for key in MODEL_PLACE}
        settings: Any = replace(self.added, **place)
        load: Any = QueryWriter if self.added.kind == "queries" else WordWeigher
        how = {"device": config["device"], "precision": self._precision, "token_budget": config["token_budget"]}
        by_row: dict[int, Any] = {}
        with gpu_job(config["device"], config["jobs_per_gpu"]):
            for part in load(settings, model_folder(settings.as_model()), **how).parts(ids, texts):
                by_row |= zip(part.rows.tolist(), part.values, strict=True)
        values = [by_row[row] for row in range(len(ids))]
        return values if self.added.kind == "queries" else [list(zip(*each, strict=True)) for each in values]

    @property
    def _precision(self) -> str:
        names = {"expansion": self.added.name, "dataset": self.subject.dataset}
        return self.subject.precision(TOLERANCE, [EXPANSION_RECORD(**names, chunk=chunk) for chunk in range(self.subject.chunks)])


def _other_queries(stored: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> list[_Change]:
    """The queries that are others now: each draw is one of its own, so that one says nothing of the next."""
    changes = []
    for document, each in enumerate(zip(stored, found, strict=True)):
        for before, after in zip_longest(*each, fillvalue=""):
            if before != after:
                changes.append(_Change(document, _words(before), _words(after)))
    return changes


def _as_changes(stored: Sequence[Any], found: Sequence[Any]) -> list[_Change]:
    """The weights of each document."""
    both = enumerate(zip(stored, found, strict=True))
    return [_Change(document, dict(before), dict(after)) for document, (before, after) in both]


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def _score(change: _Change, words: Mapping[str, float]) -> float:
    """How much more the words of a query weigh in what is stored, over the lengths of both."""
    more = sum(count * (change.stored.get(word, 0.0) - change.found.get(word, 0.0)) for word, count in words.items())
    lengths = _length(change.stored) * _length(words)
    return more / lengths if lengths else 0.0


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(weight**2 for weight in weights.values()))


def _apart(stored: dict[str, float], found: dict[str, float]) -> float:
    """The length of the difference of two documents' weights over that of the stored ones."""
    words = sorted({*stored, *found})
    before, after = (np.array([weights.get(word, 0.0) for word in words]) for weights in (stored, found))
    return float(np.linalg.norm(after - before)) / max(float(np.linalg.norm(before)), 1e-5)
