"""Check of the run of a lexical system: statistics are added up again, and some queries searched again in the stored postings.

Queries are scored for all documents, term by term and without anything of ``search.py``. Scores must agree in every bit.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.layout import POSTINGS, STATISTICS, STATISTICS_RECORD
from beirflow.core.records import read_json
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.bm25 import length_codes, scores
from beirflow.families.lexical.postings import Postings, read_postings
from beirflow.families.lexical.queries import AnalyzedQueries, ScoredField, analyze_queries, weigh
from beirflow.families.lexical.statistics import CorpusStatistics, Frequencies, Statistics, sum_statistics
from beirflow.families.spot_checks.compared_ranks import Scores, SearchCheck
from beirflow.families.spot_checks.spot_check import BLOCK_ROWS, Finding, SpotCheck, Subject
from beirflow.run.runner import replay


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of the statistics of a corpus and of the run of a lexical system."""
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset)
    check = LexicalRunCheck(subject, settings, sample, random)
    statistics = SpotCheck(
        "statistics added up again are those of the postings", STATISTICS(**check.names), check.check_statistics
    )
    return [statistics, check.ranks()]


class LexicalRunCheck(SearchCheck):
    """The checks of statistics and run."""

    settings: LexicalSettings

    @property
    def names(self) -> dict[str, str]:
        """Names in the paths of the postings."""
        return {"analyzer": self.settings.index.name, "dataset": self.subject.dataset}

    def check_statistics(self) -> Finding:
        """Add up the postings of all chunks again, not of a sample: every score depends on each of them."""
        for chunk in range(self.subject.chunks):
            self.path(POSTINGS, chunk=chunk)  # which may have been deleted
        record_path, name = Path(self.path(STATISTICS_RECORD)), STATISTICS(**self.names)
        self.path(STATISTICS)
        again = replay(sum_statistics, record_path, {"index": self.settings.index})
        if again.distance or again.facts:
            wrong = ", ".join([*(["terms, or number of documents with them"] if again.distance else []), *again.facts])
            return Finding(False, f"{name} has other {wrong}", "what the postings give")
        counts, documents = Statistics(self.path(STATISTICS)).counts, self.subject.number_of_documents
        if counts.documents != documents:  # a chunk may be left out of the record, and of the sum
            return Finding(False, f"{name} counts {counts.documents} documents", f"the {documents} of the corpus")
        return Finding(True, f"{self.subject.name}: {counts.terms} terms of {counts.documents} documents")

    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, term by term."""
        parts = ((self.subject.doc_ids(chunk), self._postings(chunk)) for chunk in range(self.subject.chunks))
        return self._scores(queries, parts)

    def _scores(self, queries: pa.Table, parts: Iterable[tuple[pa.Array, Postings]]) -> Scores:
        """Score the documents of some postings."""
        analyzed = analyze_queries(queries["text"], self.settings.bm25)
        frequencies = Frequencies(self.path(STATISTICS), self.settings.searched)
        record = read_json(self.path(STATISTICS_RECORD))
        statistics = CorpusStatistics.of_record(record["statistics"])
        fields = weigh(analyzed, self.settings.bm25, statistics, frequencies.of(analyzed.terms))
        blocks = (block for doc_ids, postings in parts for block in _blocks(doc_ids, postings, analyzed, fields))
        return Scores(blocks, ties=self.settings.ties)

    def _postings(self, chunk: int) -> Postings:
        return read_postings(self.path(POSTINGS, chunk=chunk), self.settings.index.name)


def _blocks(
    doc_ids: pa.Array, postings: Postings, queries: AnalyzedQueries, fields: list[ScoredField]
) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """Yield ids and scores of the documents of a chunk, some at a time."""
    place = pc.fill_null(pc.index_in(queries.terms, value_set=postings.terms), -1).to_numpy()[queries.pair_terms]
    for start in range(0, len(doc_ids), BLOCK_ROWS):
        ids = doc_ids.slice(start, BLOCK_ROWS)
        found = np.zeros((len(queries.starts) - 1, len(ids)))
        matched = np.zeros(found.shape, bool)
        for query, (first, last) in enumerate(zip(queries.starts[:-1], queries.starts[1:], strict=True)):
            for pair in queries.pairs[first:last][place[queries.pairs[first:last]] >= 0]:
                rows, each = _score_term(postings, fields, int(pair), int(place[pair]), start, len(ids))
                found[query, rows] += each
                matched[query, rows] |= True
        yield ids, np.where(matched, found.astype(np.float32), -np.inf)


def _score_term(
    postings: Postings, fields: list[ScoredField], pair: int, place: int, start: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a block whose documents have a term in one of the fields, and the term's scores there, float64."""
    every = slice(postings.starts[place], postings.starts[place + 1])
    first, last = np.searchsorted(postings.rows[every], [start, start + size]) + every.start
    rows = postings.rows[first:last]
    titles, texts = (column[first:last].astype(np.int64) for column in (postings.title_counts, postings.text_counts))
    # Where a document has no text it is in no index but that of title and text together.
    counts = {"contents": titles + texts, "title": np.where(postings.text_filled[rows], titles, 0), "text": texts}
    lengths = {"title": postings.title_lengths[rows], "text": postings.text_lengths[rows]}
    lengths["contents"] = lengths["title"] + lengths["text"]
    total, present = np.zeros(len(rows)), np.zeros(len(rows), bool)
    for field in fields:
        some = np.flatnonzero(counts[field.name])
        inverse = field.inverse_norms[length_codes(lengths[field.name][some])]
        total[some] += scores(np.full(len(some), field.weights[pair]), counts[field.name][some], inverse)
        present[some] = True
    return rows[present] - start, total[present]
