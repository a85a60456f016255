"""Check of the run of a sparse system: some queries are searched again in the stored weights, with nothing of ``search.py``."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from beirflow.core.layout import QUERY_WEIGHTS, TERM_WEIGHTS
from beirflow.families.sparse.files import Rows, read_queries, read_segments
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.spot_checks.compared_ranks import Scores, SearchCheck
from beirflow.families.spot_checks.spot_check import SpotCheck, Subject


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check of the run of a sparse system."""
    return [SparseRunCheck(subject, subject.system.settings, sample, random).ranks()]


class SparseRunCheck(SearchCheck):
    """The check of the run of one system on one corpus."""

    settings: SparseSettings

    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, term by term."""
        asked = self.stored_queries(rows)
        weights = [dict(zip(*row_of(asked, row), strict=True)) for row in range(len(rows))]
        blocks = (block for chunk in range(self.subject.chunks) for block in self._blocks(chunk, weights))
        return Scores(blocks, ties=self.settings.ties)

    def _blocks(self, chunk: int, queries: list[dict[int, float]]) -> Iterator[tuple[pa.Array, np.ndarray]]:
        """Yield ids and scores of the documents of a chunk, segment by segment."""
        doc_ids, first = self.subject.doc_ids(chunk), 0
        for segment in read_segments(self.path(TERM_WEIGHTS, chunk=chunk), self.settings.quantize):
            place = {term: number for number, term in enumerate(segment.terms.tolist())}
            scores = np.full((len(queries), segment.documents), -np.inf)
            for query, weights in enumerate(queries):
                own = scores[query]
                for term in sorted(weights.keys() & place.keys()):
                    span = slice(*segment.starts[place[term] : place[term] + 2].tolist())
                    rows = segment.rows[span]
                    products = segment.weights[span].astype(np.float64) * weights[term]
                    # Minus infinity until a document has a term of the query: others are no hits.
                    own[rows] = np.where(np.isinf(own[rows]), 0, own[rows]) + products
            yield doc_ids.slice(first, segment.documents), scores.astype(np.float32)
            first += segment.documents

    def stored_queries(self, rows: np.ndarray) -> Rows:
        """Read the weights of some queries."""
        queries = read_queries(self.path(QUERY_WEIGHTS), self.settings.quantize)
        return Rows.together([Rows(queries.counts[[row]], *row_of(queries, row)) for row in rows.tolist()])


def row_of(rows: Rows, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return terms and weights of one text."""
    part = slice(rows.starts[number], rows.starts[number + 1])
    return rows.terms[part], rows.weights[part]
