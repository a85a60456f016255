"""Do the stored vectors represent the texts, and does the run follow from the vectors? Checked on a sample.

Texts are encoded again with the real model, in other batches than before; sampled queries are searched again over all stored
vectors, text by text in double and with nothing of ``search.py``.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from beirflow.datasets.document_text import as_read
from beirflow.files.layout import QUERY_TOKEN_VECTORS, RUN, TOKEN_VECTORS
from beirflow.jobs.gpu_job import gpu_job
from beirflow.late.encoder import TokenEncoder
from beirflow.late.settings import LateSettings
from beirflow.late.token_pooling import PROTECTED
from beirflow.late.vectors import TokenVectors, in_rows, read_segments
from beirflow.models.card import Kind
from beirflow.models.model_places import model_folder
from beirflow.runs.compared_ranks import compare_ranks
from beirflow.runs.drift import Drift, drift_of_scores, unless_moved
from beirflow.runs.spot_check import Finding, SpotCheck, Subject, draw

TOLERANCE = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""By precision, the length of the difference of two vectors of a token, which are of length 1 and rounded to float16."""

OTHER_GROUPS = {"float32": 0.02, "float16": 0.2, "bfloat16": 0.6}
"""By precision, the share of documents whose tokens may be pooled in other groups: a rounding can decide which are the likest."""

LEAST_DRIFT = {"float32": 2e-5, "float16": 1e-4, "bfloat16": 1e-3}
"""By precision, how far scores of relevant pairs may move in one direction, over the number of a query's tokens."""

MOST_OTHERS = 200
"""Queries or documents whose scores are looked at for that; each takes as long as in a search."""

ROUNDING = 2.0**-23
"""Of a score: two sums in double that float32 rounds to different sides, over the number of a query's tokens."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a system of late interaction on one corpus.

    Args:
        subject: The system and the corpus.
        sample: Documents and queries to draw.
        random: Draws them.

    Returns:
        Three checks: documents encoded again, queries encoded again, queries searched again.
    """
    again = _Again(subject, sample, random)
    folder = QUERY_TOKEN_VECTORS(system=subject.system.name, dataset=subject.dataset).rpartition("/")[0]
    run = RUN(system=subject.system.name, dataset=subject.dataset)
    return [
        SpotCheck("documents encoded again have the stored vectors", folder, partial(again.check, "documents")),
        SpotCheck("queries encoded again have the stored vectors", folder, partial(again.check, "queries")),
        SpotCheck("queries searched again have the recorded ranks", run, again.check_ranks),
    ]


class _Again:
    """The vectors of one system for one corpus, and what is drawn of them."""

    def __init__(self, subject: Subject, sample: int, random: np.random.Generator) -> None:
        self.subject, self.sample, self.random = subject, sample, random
        self.settings: LateSettings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)

    def check(self, kind: Kind) -> Finding:
        """Encode some documents or queries again and compare their vectors with the stored ones."""
        ids, texts, stored = self._drawn_documents() if kind == "documents" else self._drawn_queries()
        again = self._encode(kind, texts)
        pooled = kind == "documents" and self.settings.pool_factor
        compare = partial(self._compare_pooled, texts) if pooled else partial(self._compare, kind)
        finding = compare(ids, again, stored)
        moved = self._drift(kind, pa.array(ids), again, stored) if finding.passed else None
        return unless_moved(finding, moved)

    def _compare(self, kind: Kind, ids: list[str], again: TokenVectors, stored: TokenVectors) -> Finding:
        """Compare vectors one by one."""
        if not np.array_equal(again.counts, stored.counts):
            wrong = int(np.argmax(again.counts != stored.counts))
            found = f"{self.subject.name}: {ids[wrong]!r} has {stored.counts[wrong]} vectors"
            return Finding(False, found, f"{again.counts[wrong]}, one for each of its tokens that count")
        apart = np.linalg.norm(again.vectors.astype(np.float64) - stored.vectors, axis=1)
        worst, within = int(np.argmax(apart)), TOLERANCE[self._precision]
        found = f"{self.subject.name}: {len(ids)} {kind}, {len(apart)} tokens, vectors at most {apart[worst]:.1e} apart"
        passed = bool(apart[worst] <= within)
        whose = ids[int(np.searchsorted(stored.starts, worst, side="right")) - 1]
        return Finding(passed, found if passed else f"{found}, {whose!r}", f"at most {within:.0e} in {self._precision}")

    def _compare_pooled(self, texts: list[str], ids: list[str], again: TokenVectors, stored: TokenVectors) -> Finding:
        """Compare vectors that were averaged in groups: the groups of a few documents may be others, but groups they must be."""
        within, most = TOLERANCE[self._precision], OTHER_GROUPS[self._precision]
        ours, theirs = (np.split(each.vectors.astype(np.float64), each.starts[1:-1]) for each in (again, stored))
        pairs = list(zip(ours, theirs, strict=True))
        alike = [len(one) == len(other) and np.linalg.norm(one - other, axis=1).max() <= within for one, other in pairs]
        first = max(float(np.linalg.norm(one[:PROTECTED] - other[:PROTECTED], axis=1).max()) for one, other in pairs)
        rows = [row for row, same in enumerate(alike) if not same]
        others = [ids[row] for row in rows]
        found = f"{self.subject.name}: {len(ids)} documents, first vectors {first:.1e} apart"
        if problem := self._no_groups(others, [texts[row] for row in rows], [theirs[row] for row in rows]):
            return Finding(False, f"{found}, {problem}", "means of vectors of its tokens")
        found += f", {len(others)} with other groups of tokens" + (f" such as {others[0]!r}" if others else "")
        expected = f"at most {most:.0%}, and first vectors at most {within:.0e} apart in {self._precision}"
        return Finding(len(others) <= math.ceil(most * len(ids)) and first <= within, found, expected)

    def _no_groups(self, ids: list[str], texts: list[str], stored: list[np.ndarray]) -> str:
        """Which vectors of documents are no means of groups of their tokens'; empty if all may be.

        A mean goes no further in any direction than one of the vectors that it is the mean of: not in its own, and not in that of
        a token of a query to which the document is relevant, so that no grouping raises a score.
        """
        if not ids:
            return ""
        every = self._encode("documents", texts, replace(self.settings, pool_factor=None))
        _, queries = self._queries_of(self.subject.relevant_to("doc_id", pa.array(ids), MOST_OTHERS))
        asked, factor = queries.vectors.astype(np.float64), self.settings.pool_factor or 1
        for doc_id, own, means in zip(ids, np.split(every.vectors.astype(np.float64), every.starts[1:-1]), stored, strict=True):
            groups = max((len(own) - PROTECTED) // factor, 1)
            if len(means) > min(len(own), PROTECTED + groups):
                return f"{doc_id!r} has {len(means)} vectors, more than groups"
            lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30)
            directions = np.concatenate([means / lengths, asked.reshape(-1, means.shape[1])]).T
            beyond = float(((means @ directions).max(axis=0) - (own @ directions).max(axis=0)).max())
            if beyond > TOLERANCE[self._precision]:
                return f"{doc_id!r} has a vector that goes {beyond:.1e} beyond those of its tokens"
        return ""

    def _drift(self, kind: Kind, ids: pa.Array, again: TokenVectors, stored: TokenVectors) -> Drift | None:
        """Whether scores with what is relevant moved; None where too little is judged."""
        own = "doc_id" if kind == "documents" else "query_id"
        wanted = self.subject.relevant_to(own, ids, MOST_OTHERS)
        there, others = self._queries_of(wanted) if kind == "documents" else self._documents_of(wanted)
        if kind == "documents":
            changed = (_max_sim(others, stored) - _max_sim(others, again)).T
        else:
            changed = _max_sim(stored, others) - _max_sim(again, others)
        return drift_of_scores(changed, *self.subject.pairs_among(own, ids, there), LEAST_DRIFT[self._precision])

    def _queries_of(self, ids: pa.Array) -> tuple[pa.Array, TokenVectors]:
        """Some queries, and their stored vectors."""
        there, rows = self.subject.queries_among(ids)
        return there, in_rows(read_segments(self._path()), self.subject.queries().num_rows).take(rows)

    def _documents_of(self, ids: pa.Array) -> tuple[pa.Array, TokenVectors]:
        """Those of some documents that are here, and their stored vectors."""
        there, rows = self.subject.documents_among(ids)
        found = [self._stored(chunk, here) for chunk, here in enumerate(rows) if len(here)]
        empty = TokenVectors(np.empty(0, np.int64), np.empty((0, 1), np.float16))
        return there, TokenVectors.together(found) if found else empty

    def check_ranks(self) -> Finding:
        """Score all documents again for some queries and compare with the run."""
        table = self.subject.queries()
        drawn = draw(table.num_rows, self.sample, self.random)
        queries = in_rows(read_segments(self._path()), table.num_rows).take(drawn)
        ids = table["query_id"].take(pa.array(drawn)).to_pylist()
        return compare_ranks(self.subject, ids, self._blocks(queries), lambda: ROUNDING * queries.counts)

    def _blocks(self, queries: TokenVectors) -> Iterator[tuple[pa.Array, np.ndarray]]:
        """Ids and scores of all documents, segment by segment."""
        tokens, firsts = queries.vectors.astype(np.float64), queries.starts[:-1]
        for chunk in range(self.subject.chunks):
            doc_ids = self.subject.doc_ids(chunk)
            for segment in read_segments(self._path(chunk)):
                scores = _sums(tokens, firsts, segment.texts)
                yield doc_ids.take(pa.array(segment.rows)), scores[:, segment.text].astype(np.float32)

    def _drawn_documents(self) -> tuple[list[str], list[str], TokenVectors]:
        rows = self.subject.draw_documents(self.sample, self.random)
        table = as_read(self.subject.take_documents(rows))
        stored = [self._stored(chunk, here) for chunk, here in enumerate(rows) if len(here)]
        return table["doc_id"].to_pylist(), table["text"].to_pylist(), TokenVectors.together(stored)

    def _stored(self, chunk: int, rows: np.ndarray) -> TokenVectors:
        """The stored vectors of some documents of a chunk, whose rows ascend."""
        found, places = [], []
        for segment in read_segments(self._path(chunk)):
            here = np.flatnonzero(np.isin(segment.rows, rows))
            found.append(segment.texts.take(segment.text[here].astype(np.int64)))
            places.append(segment.rows[here])
        return TokenVectors.together(found).take(np.argsort(np.concatenate(places)))

    def _drawn_queries(self) -> tuple[list[str], list[str], TokenVectors]:
        table = self.subject.queries()
        drawn = draw(table.num_rows, self.sample, self.random)
        chosen, stored = table.take(pa.array(drawn)), in_rows(read_segments(self._path()), table.num_rows)
        return chosen["query_id"].to_pylist(), chosen["text"].to_pylist(), stored.take(drawn)

    def _encode(self, kind: Kind, texts: list[str], settings: LateSettings | None = None) -> TokenVectors:
        settings = self.subject.with_model_of_here(settings or self.settings)
        config = self.subject.config
        with gpu_job(config["device"], config["jobs_per_gpu"]):
            how = {"device": config["device"], "precision": self._precision, "token_budget": config["token_budget"]}
            return TokenVectors.together(list(TokenEncoder(settings, model_folder(settings), kind, **how).windows(texts)))

    def _path(self, chunk: int | None = None) -> str:
        names = {"system": self.subject.system.name, "dataset": self.subject.dataset}
        path = QUERY_TOKEN_VECTORS(**names) if chunk is None else TOKEN_VECTORS(**names, chunk=chunk)
        return str(self.subject.file(path))

    @property
    def _precision(self) -> str:
        return self.subject.precision(TOLERANCE)


def _sums(tokens: np.ndarray, firsts: np.ndarray, documents: TokenVectors) -> np.ndarray:
    """Scores of queries, given by their tokens and where each begins, for documents; float64 of shape (queries, documents)."""
    starts, scores = documents.starts, np.empty((len(firsts), len(documents.counts)))
    for number in range(len(documents.counts)):
        own = documents.vectors[starts[number] : starts[number + 1]].astype(np.float64)
        scores[:, number] = np.add.reduceat((tokens @ own.T).max(axis=1), firsts)
    return scores


def _max_sim(queries: TokenVectors, documents: TokenVectors) -> np.ndarray:
    """The same over the number of a query's tokens."""
    if not len(queries.counts):
        return np.empty((0, len(documents.counts)))
    return _sums(queries.vectors.astype(np.float64), queries.starts[:-1], documents) / queries.counts[:, None]
