"""Check of the stored token vectors and of the run of a late-interaction system, on a sample.

Texts are encoded again with the real model, in other batches than before; sampled queries are searched again over all stored
vectors, text by text in double and with nothing of ``search.py``.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from beirflow.core.layout import QUERY_TOKEN_VECTORS, TOKEN_VECTORS
from beirflow.data.document_text import Kind
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.token_pooling import PROTECTED
from beirflow.families.late_interaction.vectors import TokenVectors, in_rows, read_segments
from beirflow.families.spot_checks.compared_ranks import Scores
from beirflow.families.spot_checks.drift import LEAST_DRIFT
from beirflow.families.spot_checks.representation_check import RepresentationCheck, TextSample, on_device
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, SpotCheck, Subject, compare_distances
from beirflow.models.model_places import model_folder

TOLERANCE = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""Largest length of the difference of two vectors of a token, of length 1 and rounded to float16, by precision."""

OTHER_GROUPS = {"float32": 0.02, "float16": 0.2, "bfloat16": 0.6}
"""Largest share of documents whose tokens may be pooled in other groups, as a rounding can decide which are the likest."""

ROUNDING = 4 * 2.0**-53
"""Largest difference of two sums in double of similarities, which are exact and at most 1, over the square of their number."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan three checks of a system of late interaction: documents and queries encoded again, queries searched again."""
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)
    check = TokenVectorCheck(subject, settings, sample, random)
    return [*check.checks(), check.ranks()]  # which take long, so that no audit without a sample searches


class TokenVectorCheck(RepresentationCheck[TokenVectors]):
    """The checks of the token vectors of one system for one corpus."""

    settings: LateSettings
    made = "encoded", "vectors"
    of_queries, of_chunk = QUERY_TOKEN_VECTORS, TOKEN_VECTORS
    tolerance = TOLERANCE
    # Of sums over the tokens of a query, over their number: stored vectors are rounded to float16.
    least_drift: ClassVar = {**LEAST_DRIFT, "float32": 2e-5}

    def compare(self, sample: TextSample[TokenVectors], again: TokenVectors) -> Finding:
        """Compare vectors one by one, or those of groups of tokens."""
        if sample.kind == "documents" and self.settings.pool_factor:
            return self._compare_pooled(sample, again)
        ids, stored = sample.ids, sample.stored
        if not np.array_equal(again.counts, stored.counts):
            wrong = int(np.argmax(again.counts != stored.counts))
            problem = f"{self.subject.name}: {ids[wrong]!r} has {stored.counts[wrong]} vectors"
            return Finding(False, problem, f"{again.counts[wrong]}, one for each of its tokens that count")
        apart = np.linalg.norm(again.vectors.astype(np.float64) - stored.vectors, axis=1)
        problem = f"{self.subject.name}: {len(ids)} {sample.kind}, vectors of {len(apart)} tokens"

        def text_of(token: int) -> str:
            return repr(ids[int(np.searchsorted(stored.starts, token, side="right")) - 1])

        return compare_distances(problem, apart, "", TOLERANCE, self.precision, text_of)

    def _compare_pooled(self, sample: TextSample[TokenVectors], again: TokenVectors) -> Finding:
        """Compare means of groups of vectors: a few documents may have other groups, but each vector must be such a mean."""
        ids, texts = sample.ids, sample.texts
        within, most = TOLERANCE[self.precision], OTHER_GROUPS[self.precision]
        ours, theirs = (np.split(each.vectors.astype(np.float64), each.starts[1:-1]) for each in (again, sample.stored))
        pairs = list(zip(ours, theirs, strict=True))
        alike = [len(one) == len(other) and np.linalg.norm(one - other, axis=1).max() <= within for one, other in pairs]
        first = max(float(np.linalg.norm(one[:PROTECTED] - other[:PROTECTED], axis=1).max()) for one, other in pairs)
        rows = [row for row, same in enumerate(alike) if not same]
        others = [ids[row] for row in rows]
        compared = f"{self.subject.name}: {len(ids)} documents, first vectors {first:.1e} apart"
        if problem := self._no_groups(others, [texts[row] for row in rows], [theirs[row] for row in rows]):
            return Finding(False, f"{compared}, {problem}", "means of vectors of its tokens")
        compared += f", {len(others)} with other groups of tokens" + (f" such as {others[0]!r}" if others else "")
        expected = f"at most {most:.0%}, and first vectors at most {within:.0e} apart in {self.precision}"
        return Finding(len(others) <= math.ceil(most * len(ids)) and first <= within, compared, expected)

    def _no_groups(self, ids: list[str], texts: list[str], stored: list[np.ndarray]) -> str:
        """Return the vectors of documents that no grouping of their tokens can produce; empty if all may be means.

        A mean goes no further in any direction than one of the vectors that it is the mean of: not in its own, and not in that of
        a token of a query to which the document is relevant, so that no grouping raises a score.
        """
        if not ids:
            return ""
        with on_device(self.subject):
            unpooled = replace(self.model_settings(), pool_factor=None)
            encoder = self.load(unpooled, "documents", precision=self.precision, **self.subject.computing)
            every = _together(encoder, texts)
        _, rows = self.subject.queries_among(self.subject.relevant_to("doc_id", pa.array(ids), self.most_others))
        asked, factor = self.stored_queries(rows).vectors.astype(np.float64), self.settings.pool_factor or 1
        for doc_id, own, means in zip(ids, np.split(every.vectors.astype(np.float64), every.starts[1:-1]), stored, strict=True):
            groups = max((len(own) - PROTECTED) // factor, 1)
            if len(means) > min(len(own), PROTECTED + groups):
                return f"{doc_id!r} has {len(means)} vectors, more than groups"
            lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30)  # opposite vectors have a mean of 0
            directions = np.concatenate([means / lengths, asked.reshape(-1, means.shape[1])]).T
            beyond = float(((means @ directions).max(axis=0) - (own @ directions).max(axis=0)).max())
            if beyond > TOLERANCE[self.precision]:
                return f"{doc_id!r} has a vector that goes {beyond:.1e} beyond those of its tokens"
        return ""

    def scores(self, queries: TokenVectors, documents: TokenVectors) -> np.ndarray:
        """Score documents for queries."""
        return _sums(queries.vectors.astype(np.float64), queries.starts[:-1], documents)

    def lengths(self, queries: TokenVectors, documents: TokenVectors) -> np.ndarray:
        """Return the number of a query's tokens."""
        return queries.counts[:, None].astype(np.float64)

    def slack(self, queries: TokenVectors, documents: TokenVectors) -> np.ndarray:
        """Return how far scores may change. Raises NotHereError if tokens are pooled: a rounding can decide in which groups."""
        if self.settings.pool_factor:
            raise NotHereError("without the stored vectors nobody knows in which groups tokens were pooled")
        return super().slack(queries, documents)

    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, segment by segment."""
        asked = self.stored_queries(rows)
        return Scores(self._blocks(asked), lambda: ROUNDING * asked.counts.astype(np.float64) ** 2)

    def _blocks(self, queries: TokenVectors) -> Iterator[tuple[pa.Array, np.ndarray]]:
        """Yield ids and scores of all documents, segment by segment."""
        tokens, firsts = queries.vectors.astype(np.float64), queries.starts[:-1]
        for chunk in range(self.subject.chunks):
            doc_ids = self.subject.doc_ids(chunk)
            for segment in read_segments(self.path(TOKEN_VECTORS, chunk=chunk)):
                scores = _sums(tokens, firsts, segment.texts)
                yield doc_ids.take(pa.array(segment.rows)), scores[:, segment.text]

    def stored_queries(self, rows: np.ndarray) -> TokenVectors:
        """Read the token vectors of some queries."""
        return in_rows(read_segments(self.path(QUERY_TOKEN_VECTORS)), self.subject.queries.num_rows).take(rows)

    def stored_chunk(self, chunk: int, rows: np.ndarray) -> TokenVectors:
        """Read the token vectors of some documents of a chunk."""
        parts, places = [], []
        for segment in read_segments(self.path(TOKEN_VECTORS, chunk=chunk)):
            here = np.flatnonzero(np.isin(segment.rows, rows))
            parts.append(segment.texts.take(segment.text[here].astype(np.int64)))
            places.append(segment.rows[here])
        return TokenVectors.together(parts).take(np.argsort(np.concatenate(places)))

    def join(self, parts: list[TokenVectors]) -> TokenVectors:
        """Join the token vectors of several parts."""
        return TokenVectors.together(parts)

    def represent(self, sample: TextSample[TokenVectors]) -> TokenVectors:
        """Encode the texts again."""
        return _together(self.model(sample.kind), sample.texts)

    @staticmethod
    def load(settings: LateSettings, kind: Kind, **on: Any) -> TokenEncoder:
        """Load the encoder."""
        return TokenEncoder(settings, model_folder(settings), kind, **on)

    def model_settings(self) -> LateSettings:
        """Return the settings with the auditor's model."""
        return self.subject.with_model_of_here(self.settings)

    def batch_of(self, texts: TextSample[Any], row: int) -> np.ndarray:
        """Return the rows of the texts of a batch."""
        return np.asarray(self.model(texts.kind).batch_of(texts.texts, row))


def _together(encoder: TokenEncoder, texts: list[str]) -> TokenVectors:
    return TokenVectors.together(list(encoder.windows(texts)))


def _sums(tokens: np.ndarray, firsts: np.ndarray, documents: TokenVectors) -> np.ndarray:
    """Score documents for queries, given by their tokens and the first of each; float64 of shape (queries, documents)."""
    starts, scores = documents.starts, np.empty((len(firsts), len(documents.counts)))
    for number in range(len(documents.counts)):
        own = documents.vectors[starts[number] : starts[number + 1]].astype(np.float64)
        scores[:, number] = np.add.reduceat((tokens @ own.T).max(axis=1), firsts)
    return scores
