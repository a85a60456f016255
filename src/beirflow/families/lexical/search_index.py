"""Search of one chunk of postings with BM25."""

from concurrent.futures import ThreadPoolExecutor

from beirflow.core.layout import record_of
from beirflow.core.records import Job, check_inputs, read_json
from beirflow.data.corpus_files import read_table, recorded_digest
from beirflow.families.lexical.postings import open_postings
from beirflow.families.lexical.queries import analyze_queries, weigh
from beirflow.families.lexical.search import search_postings
from beirflow.families.lexical.settings import LexicalSettings
from beirflow.families.lexical.statistics import CorpusStatistics, Frequencies
from beirflow.ranking.chunk_search import OpenedChunk, SearchedFiles, SearchRequest, search_one_chunk
from beirflow.ranking.ranking import Hits
from beirflow.ranking.searched import Ids, read_expansion


def search_index(
    *,
    request: SearchRequest,
    settings: LexicalSettings,
    postings_path: str,
    statistics_path: str,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Of the expansion that was added to the documents only the record is read, for what it cost. Raises DataError if a file is not
    the one that was recorded, belongs to another corpus, or no document has a term at all.
    """
    corpus = request.corpus
    read = job.digests({path: recorded_digest(path) for path in (corpus.documents_path, corpus.queries_path)})
    documents = {job.below(corpus.documents_path): read[job.below(corpus.documents_path)]}
    records = {path: read_json(record_of(path)) for path in (postings_path, statistics_path)}
    for path, record in records.items():
        check_inputs(record_of(path), record, documents, analyzer=settings.index.name)
    expansions = {}
    if expansion_path is not None:
        expansions[expansion_path] = read_expansion(expansion_path, postings_path, records[postings_path], job)
    files = SearchedFiles(records, expansions, read=read)
    # Postings are read, and ids sorted, while this thread reads ids and queries.
    with ThreadPoolExecutor(max_workers=2) as background:
        opening = background.submit(open_postings, postings_path, settings.index.name)

        def open_chunk(ids: Ids) -> OpenedChunk:
            def search() -> tuple[Hits, int]:
                cut = background.submit(ids.cut, request.top_k, settings.ties)
                analyzed = analyze_queries(read_table(corpus.queries_path, ["text"])["text"], settings)
                statistics = CorpusStatistics.of_record(records[statistics_path]["statistics"])
                # Not kept in a variable: the table would stay in memory during the search.
                frequencies = Frequencies(statistics_path, settings.searched).of(analyzed.terms)
                fields = weigh(analyzed, settings, statistics, frequencies)
                return search_postings(analyzed, fields, opening.result(), cut.result(), threads=threads)

            return OpenedChunk(search)

        search_one_chunk(request, job, files, open_chunk, ties=settings.ties)
