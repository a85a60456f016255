"""Search of one chunk of postings with BM25."""

from concurrent.futures import ThreadPoolExecutor

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.expansions.files import ExpansionRecord
from beirflow.families.lexical.fields import Bm25
from beirflow.families.lexical.postings import ChunkPostings
from beirflow.families.lexical.queries import analyze_queries, weigh
from beirflow.families.lexical.search import search_postings
from beirflow.families.lexical.statistics import Frequencies, Statistics
from beirflow.ranking.candidates import Candidates, sources_of
from beirflow.ranking.searched import Retrieval, read_ids


@step(Candidates, stage="search", ancestors=None, same=("analyzer",))
def search_index(
    queries: Queries,
    documents: Documents,
    postings: ChunkPostings,
    statistics: Statistics,
    expansion: ExpansionRecord | None,
    bm25: Bm25,
    retrieval: Retrieval,
) -> Made:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Of the expansion that was added to the documents only the record is read, for what it cost. Raises DataError if no document
    has a term at all.
    """
    # Postings are read, and ids sorted, while this thread reads ids and analyses queries.
    with ThreadPoolExecutor(max_workers=2) as background:
        opening = background.submit(postings.read, bm25.index_name)
        ids = read_ids(queries, documents, int(postings.names["chunk"]), drop_self_matches=retrieval.drop_self_matches)
        cut = background.submit(ids.cut, retrieval.top_k, bm25.ties)
        analyzed = analyze_queries(queries.read(["text"])["text"], bm25.analyzer)
        # Not kept in a variable: the table would stay in memory during the search.
        frequencies = Frequencies(statistics.path, bm25.searched).of(analyzed.distinct)
        fields = weigh(analyzed, bm25, statistics.counts, frequencies)
        hits, dropped = search_postings(analyzed, fields, opening.result(), cut.result())
    sources = sources_of([postings, statistics, *([expansion] if expansion else [])])
    return Made(hits, made={}, **ids.dropped(dropped), sources=sources, top_k=retrieval.top_k, ties=bm25.ties)
