"""A lexical system that answers queries: its postings and statistics stay in memory."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from beirflow.core.layout import POSTINGS, STATISTICS, STATISTICS_RECORD
from beirflow.core.records import read_json
from beirflow.families.answers import Asked, Opened, nothing_excluded
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.postings import open_postings
from beirflow.families.lexical.queries import AnalyzedQueries, ScoredField, analyze_queries, weigh
from beirflow.families.lexical.search import inverse_norms_of, search_postings
from beirflow.families.lexical.statistics import CorpusStatistics, Frequencies
from beirflow.ranking.ranking import Cut, Hits, byte_order, rank_hits

IN_MEMORY = 4.0  # memory of postings relative to the disk, where they are compressed


def open_answers(asked: Asked) -> Opened:
    """Open a lexical system with its postings in memory. Raises NoAnswerError if they do not fit there."""
    settings: LexicalSettings = asked.system.settings
    analyzer = settings.index.name
    paths = asked.files(POSTINGS, analyzer=analyzer)
    asked.make_room(paths, IN_MEMORY)
    counts = read_json(asked.file(STATISTICS_RECORD, analyzer=analyzer))["statistics"]
    statistics = CorpusStatistics.of_record(counts)
    frequencies = Frequencies(asked.file(STATISTICS, analyzer=analyzer), settings.searched)
    chunks = [open_postings(path, analyzer, keep=True) for path in paths]
    order = byte_order(asked.doc_ids, settings.ties)

    def fields_of(queries: Sequence[str]) -> tuple[AnalyzedQueries, list[ScoredField]]:
        analyzed = analyze_queries(pa.array(queries, pa.string()), settings.bm25)
        return analyzed, weigh(analyzed, settings.bm25, statistics, frequencies.of(analyzed.terms))

    _, fields = fields_of([""])  # whose inverse norms no query changes
    spans = [slice(first, first + size) for first, size in zip(asked.firsts, asked.sizes, strict=True)]
    norms = [inverse_norms_of(fields, chunk.head) for chunk in chunks]

    def answer(queries: Sequence[str]) -> Hits:
        analyzed, fields = fields_of(queries)
        parts, excluded = [], nothing_excluded(queries)
        for span, postings, inverse_norms in zip(spans, chunks, norms, strict=True):
            cut = Cut(asked.top_k, order[span], excluded)
            (number, row, score), _ = search_postings(
                analyzed, fields, postings, cut, threads=asked.threads, inverse_norms=inverse_norms
            )
            parts.append((number, row + np.int32(span.start), score))
        return rank_hits(parts, asked.doc_ids, asked.top_k, settings.ties)[:3]

    return Opened(answer, {"postings": "cpu"}, encode=fields_of)
