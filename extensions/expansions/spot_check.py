"""Check of an expansion on a sample, which the real model makes again, in other batches."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.layout import EXPANSION_RECORD
from beirflow.extensions.expansions.sampler import drawn as drawn_documents
from beirflow.families.expansions.settings import Expansion, WrittenQueries
from beirflow.families.expansions.spot_check import CHECKS, Analyze, folder_of, stored_expansion
from beirflow.families.spot_checks.drift import CHANCE, LEAST_DRIFT, MOST_OTHERS, SEED, Drift, drift_of_scores, unless_moved
from beirflow.families.spot_checks.spot_check import (
    MODEL_PLACE,
    Finding,
    NotHereError,
    SpotCheck,
    Subject,
    compare_distances,
    draw,
)
from beirflow.models.model_places import model_folder

OTHER_QUERIES = {"float32": 0.02, "float16": 0.5, "bfloat16": 0.5}
"""By precision, the largest part of queries that differ: those where a draw falls between two roundings of a probability."""

TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""By precision, the largest length of the difference of a document's weights over the length of the stored ones."""

DRAWN = 19_999  # sums of drawn queries; two as large as that of the stored ones among them are a chance above ``CHANCE``

Asked = list[list[Mapping[str, float]]]  # by document, the words of the queries to which it is relevant


def spot_checks(subject: Subject, sample: int, random: np.random.Generator, analyze: Analyze) -> list[SpotCheck]:
    """Plan the check of what a model adds to the documents of a corpus, or is trained on."""
    added: Expansion = subject.system.settings.added
    return [
        SpotCheck(CHECKS[added.kind], folder_of(subject, added), ExpansionCheck(subject, added, sample, random, analyze).check)
    ]


class ExpansionCheck:
    """The check of an expansion of one corpus, with settings as the results say."""

    def __init__(self, subject: Subject, added: Expansion, sample: int, random: np.random.Generator, analyze: Analyze) -> None:
        self.subject, self.added, self.sample, self.random, self.analyze = subject, added, sample, random, analyze

    def check(self) -> Finding:
        """Make the expansion of some documents again, and compare it with the stored one."""
        ids, texts, stored = self._sample()
        again = self._make(ids, texts)
        of_queries = self.added.kind == "queries"
        finding = (self._compare_queries if of_queries else self._compare_weights)(ids, stored, again)
        every = getattr(self.added, "documents", None) or self.subject.number_of_documents
        finding = finding._replace(drawn=(len(ids), min(every, self.subject.number_of_documents)))
        return unless_moved(finding, (self._leaks if of_queries else self._drift)(stored, again, self._asked(ids)))

    def _compare_queries(self, ids: list[str], stored: list[Any], found: list[Any]) -> Finding:
        both = list(zip(stored, found, strict=True))
        queries, others = sum(max(map(len, each)) for each in both), sum(len(_other_queries(*each)) for each in both)
        within = OTHER_QUERIES[self._precision]
        said = f"{self.subject.name}: {len(ids)} documents, {others} of {queries} queries are others"
        return Finding(others / max(1, queries) <= within, said, f"at most {within:.0%} in {self._precision}")

    def _compare_weights(self, ids: list[str], stored: list[Any], again: list[Any]) -> Finding:
        apart = np.array([_apart(dict(before), dict(after)) for before, after in zip(stored, again, strict=True)])
        compared, unit = f"{self.subject.name}: {len(ids)} documents", " of the length of their weights"
        return compare_distances(compared, apart, unit, TOLERANCE, self._precision, lambda worst: repr(ids[worst]))

    def _asked(self, ids: list[str]) -> Asked:
        """Return the words of the queries to which each document is relevant."""
        doc_ids = pa.array(ids, pa.string())
        there, rows = self.subject.queries_among(self.subject.relevant_to("doc_id", doc_ids, MOST_OTHERS))
        texts = self.subject.queries["text"].take(pa.array(rows)).to_pylist()
        asked: Asked = [[] for _ in ids]
        for document, query in zip(*self.subject.pairs_among("doc_id", doc_ids, there), strict=True):
            words = self.analyze(texts[query]) if self.added.kind == "queries" else _words(texts[query])
            asked[document].append(Counter(words))
        return asked

    def _drift(self, stored: list[Any], found: list[Any], asked: Asked) -> Drift | None:
        """Measure how far weights moved towards the words of queries to which their documents are relevant."""
        columns = [words for each in asked for words in each]
        changes = [
            [_match(dict(before), words) - _match(dict(after), words) for words in columns]
            for before, after in zip(stored, found, strict=True)
        ]
        own = np.repeat(np.arange(len(asked)), [len(each) for each in asked])
        moved = np.array(changes).reshape(len(asked), len(columns))
        return drift_of_scores(moved, own, np.arange(len(columns)), LEAST_DRIFT[self._precision])

    def _leaks(self, stored: list[Any], found: list[Any], asked: Asked) -> Drift | None:
        """Test whether queries that are others now are nearer to what their documents are relevant to than all written again.

        A query that is another on this machine is still one that the model could write: as near as those of its document.
        """
        random, sums, others = np.random.default_rng(SEED), np.zeros(DRAWN), list[float]()
        for before, after, of_document in zip(stored, found, asked, strict=True):
            near = [max((_match(Counter(self.analyze(text)), words) for words in of_document), default=0.0) for text in after]
            for text in _other_queries(before, after) if of_document else ():
                others.append(max(_match(Counter(self.analyze(text)), words) for words in of_document))
                sums += random.choice([*near, others[-1]], DRAWN)
        if not others:
            return None
        chance = float(1 + np.count_nonzero(sums >= sum(others) - 1e-9)) / (1 + DRAWN)
        form = "{0} queries that are others are {1:+.2f} nearer to queries to which their documents are relevant"
        return Drift(len(others), (sum(others) - sums.mean()) / len(others), chance < CHANCE, form)

    def _sample(self) -> tuple[list[str], list[str], list[Any]]:
        """Draw documents: their ids, their texts, and what is stored for each: queries, or pairs of a word and its weight."""
        rows = self._rows(self.sample)
        stored = [row for chunk in enumerate(rows) for row in stored_expansion(self.subject, self.added, *chunk)]
        table = self.subject.take_documents(rows)
        return table["doc_id"].to_pylist(), table["text"].to_pylist(), stored

    def _rows(self, sample: int) -> list[np.ndarray]:
        """Return rows of some documents of each chunk; where queries were written only for some that were drawn, of these."""
        added, ids = self.added, [self.subject.doc_ids(chunk).to_pylist() for chunk in range(self.subject.chunks)]
        if not isinstance(added, WrittenQueries) or added.documents is None or added.documents >= sum(map(len, ids)):
            return self.subject.draw_documents(sample, self.random, relevant=sample // 2)
        those = np.flatnonzero(drawn_documents(added.seed, list(chain.from_iterable(ids)), added.documents))
        rows, ends = those[draw(len(those), sample, self.random)], np.cumsum([len(each) for each in ids])
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        return [part - (end - len(each)) for part, end, each in zip(parts, ends, ids, strict=True)]

    def _make(self, ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
        from beirflow.extensions.expansions.word_weigher import (
            WordWeigher,  # these need torch, which most expansions in audits do not
        )
        from beirflow.extensions.expansions.writer import QueryWriter
        from beirflow.families.spot_checks.representation_check import on_device

        here = self.subject.settings_here and self.subject.settings_here.added
        if here is None or here.kind != self.added.kind or here.path is not None:
            name = self.subject.system.name
            raise NotHereError(f"it is not known here where the model of {name} is; name it under custom.systems")
        settings: Any = replace(self.added, **{key: getattr(here, key) for key in MODEL_PLACE})
        load: Any = QueryWriter if self.added.kind == "queries" else WordWeigher
        again: dict[int, Any] = {}
        with on_device(self.subject):
            model = load(settings, model_folder(settings.as_model()), precision=self._precision, **self.subject.computing)
            for part in model.parts(ids, texts):
                again |= zip(part.rows.tolist(), part.values, strict=True)
        values = [again[row] for row in range(len(ids))]
        return values if self.added.kind == "queries" else [list(zip(*each, strict=True)) for each in values]

    @property
    def _precision(self) -> str:
        names = {"expansion": self.added.name, "dataset": self.subject.dataset}
        return self.subject.precision(TOLERANCE, [EXPANSION_RECORD(**names, chunk=chunk) for chunk in range(self.subject.chunks)])


def _other_queries(stored: Sequence[str], found: Sequence[str]) -> list[str]:
    """Return the stored queries that are others now: each draw is one of its own, so that one says nothing of the next."""
    return [before for before, after in zip_longest(stored, found, fillvalue="") if before != after]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _match(added: Mapping[str, float], words: Mapping[str, float]) -> float:
    """Return the cosine of what is added to a document and of the words of a query."""
    lengths = _length(added) * _length(words)
    return sum(count * added.get(word, 0.0) for word, count in words.items()) / lengths if lengths else 0.0


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(weight**2 for weight in weights.values()))


def _apart(stored: dict[str, float], found: dict[str, float]) -> float:
    """Return the length of the difference of two documents' weights over that of the stored ones."""
    words = sorted({*stored, *found})
    before, after = (np.array([weights.get(word, 0.0) for word in words]) for weights in (stored, found))
    return float(np.linalg.norm(after - before)) / max(float(np.linalg.norm(before)), 1e-5)
