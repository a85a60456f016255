"""Search of one chunk of term weights."""

from beirflow.files.background import read_ahead
from beirflow.files.records import Job
from beirflow.runs.chunk_search import OpenedChunk, SearchedFiles, SearchRequest, search_one_chunk
from beirflow.runs.ranking import Hits
from beirflow.runs.searched import Ids, check_precision, check_rows, read_expansion, read_searched
from beirflow.sparse.files import read_queries, read_segments
from beirflow.sparse.products import turned_round
from beirflow.sparse.search import search_segments
from beirflow.sparse.settings import SparseSettings


def search_weights(
    *,
    request: SearchRequest,
    settings: SparseSettings,
    model_path: str,
    query_weights_path: str,
    chunk_weights_path: str,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Args:
        request: The chunk, and what is asked.
        settings: The system.
        model_path: The record of the models.
        query_weights_path: The weights of the queries, with their record.
        chunk_weights_path: The weights of the chunk, with their record.
        job: The job, for the record of the run.
        expansion_path: What was added to the documents of the chunk; only its record is read, for what it cost.
        threads: Threads to compute with.

    Raises:
        DataError: A file is not the one that was recorded, or weights are not those of this system, model and dataset, or not of
            one precision.
    """
    weights_of = {query_weights_path: request.corpus.queries_path, chunk_weights_path: request.corpus.documents_path}
    records = read_searched(weights_of, model_path, job, system=request.system)
    check_precision(records, "weigh")
    of_chunk, expansions = records[chunk_weights_path], {}
    if expansion_path is not None:
        expansions[expansion_path] = read_expansion(expansion_path, chunk_weights_path, of_chunk, job)

    def open_chunk(ids: Ids) -> OpenedChunk:
        def search() -> tuple[Hits, int]:
            queries = read_queries(query_weights_path, settings.quantize)
            check_rows(query_weights_path, len(queries.counts), len(ids.queries), "weigh")
            segments = turned_round(read_ahead(read_segments(chunk_weights_path, settings.quantize)), threads)
            return search_segments(
                queries, segments, ids.documents, request.top_k, excluded=ids.own, ties=settings.ties, threads=threads
            )

        check_rows(chunk_weights_path, of_chunk["rows"], len(ids.documents), "weigh")
        return OpenedChunk(search)

    search_one_chunk(request, job, SearchedFiles(records, expansions), open_chunk, ties=settings.ties)
