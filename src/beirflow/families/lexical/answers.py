"""A lexical system that answers queries: its postings and statistics stay in memory."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from beirflow.core.layout import POSTINGS, STATISTICS, STATISTICS_RECORD
from beirflow.families.answers import Opened, SearchRequest, nothing_excluded
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.postings import ChunkPostings
from beirflow.families.lexical.queries import QueryTerms, WeightedField, analyze_queries, weigh
from beirflow.families.lexical.search import search_postings
from beirflow.families.lexical.statistics import Frequencies, Statistics
from beirflow.ranking.ranking import Cut, Hits, byte_order, rank_hits

IN_MEMORY = 4.0  # memory of postings relative to the disk, where they are compressed


def open_answers(request: SearchRequest) -> Opened:
    """Open a lexical system with its postings in memory. Raises NoAnswerError if they do not fit there."""
    settings: LexicalSettings = request.system.settings
    analyzer = settings.index.name
    paths = request.files(POSTINGS, analyzer=analyzer)
    request.make_room(paths, IN_MEMORY)
    request.file(STATISTICS_RECORD, analyzer=analyzer)
    statistics = Statistics(request.file(STATISTICS, analyzer=analyzer))
    frequencies = Frequencies(statistics.path, settings.searched)
    chunks = [ChunkPostings(path).read(analyzer) for path in paths]
    order = byte_order(request.doc_ids, settings.ties)
    spans = [slice(first, first + size) for first, size in zip(request.firsts, request.sizes, strict=True)]

    def encode(queries: Sequence[str]) -> tuple[QueryTerms, list[WeightedField]]:
        """Analyze and weigh the queries."""
        analyzed = analyze_queries(pa.array(queries, pa.string()), settings.analyzer)
        return analyzed, weigh(analyzed, settings.bm25, statistics.counts, frequencies.of(analyzed.distinct))

    def answer(queries: Sequence[str]) -> Hits:
        """Search the postings chunk by chunk."""
        analyzed, fields = encode(queries)
        parts, excluded = [], nothing_excluded(queries)
        for span, postings in zip(spans, chunks, strict=True):
            cut = Cut(request.top_k, order[span], excluded)
            (number, row, score), _ = search_postings(analyzed, fields, postings, cut)
            parts.append((number, row + np.int32(span.start), score))
        return rank_hits(parts, request.doc_ids, request.top_k, settings.ties)[:3]

    answer([""])  # computes what is kept of each chunk
    return Opened(answer, {"postings": "cpu"}, encode=encode)
