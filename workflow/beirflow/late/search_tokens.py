"""Search of one chunk of token vectors."""

from functools import partial

from beirflow.files.records import Job
from beirflow.files.verified import damaged
from beirflow.jobs.devices import exact_device
from beirflow.jobs.hardware import Hardware
from beirflow.late.search import exact_of_pairs, exact_top_k
from beirflow.late.vectors import TokenVectors, in_rows, read_segments
from beirflow.runs.chunk_search import OpenedChunk, SearchedFiles, SearchRequest, search_one_chunk
from beirflow.runs.ranking import Hits, byte_order
from beirflow.runs.searched import Ids, check_precision, check_rows, check_same, read_searched


def search_tokens(
    *,
    request: SearchRequest,
    model_path: str,
    query_vectors_path: str,
    chunk_vectors_path: str,
    hardware: Hardware,
    job: Job,
) -> None:
    """Find the top k of one chunk for every query, among all its documents, or among its own candidates where it has some.

    Raises DataError if a file is not the one that was recorded, or vectors are not those of this system, model and dataset, or
    not of one precision and dimension; DeviceError if the GPU fails or has too little memory.
    """
    hardware.use_threads()
    vectors_of = {query_vectors_path: request.corpus.queries_path, chunk_vectors_path: request.corpus.documents_path}
    records = read_searched(vectors_of, model_path, job, system=request.system)
    check_precision(records, "encode")
    # A chunk without texts has no dimensions.
    with_vectors = {path: record for path, record in records.items() if record["dim"]}
    check_same(with_vectors, lambda record: record["dim"], "dimensions", "encode")

    def open_chunk(ids: Ids) -> OpenedChunk:
        queries = _rows_of(query_vectors_path, len(ids.queries))
        check_rows(chunk_vectors_path, records[chunk_vectors_path]["rows"], len(ids.documents), "encode")
        return OpenedChunk(lambda: _top_k(request.top_k, queries, chunk_vectors_path, ids, hardware.device))

    search_one_chunk(request, job, SearchedFiles(records), open_chunk, gpu=hardware.gpu(), ranks_own_candidates=True)


def _top_k(k: int, queries: TokenVectors, chunk_vectors_path: str, ids: Ids, device: str) -> tuple[Hits, int]:
    segments, order, where = partial(read_segments, chunk_vectors_path), byte_order(ids.documents), exact_device(device)
    if ids.pairs is None:
        hits = exact_top_k(queries, segments, order, k, excluded=ids.own, device=where)
    else:
        hits = exact_of_pairs(queries, segments, *ids.pairs, order, k, device=where)
    return hits, ids.self_matches


def _rows_of(path: str, rows: int) -> TokenVectors:
    try:
        return in_rows(read_segments(path), rows)
    except ValueError as error:
        raise damaged(path, str(error)) from error
