"""A sparse system that answers queries: the query weigher and all weights stay in memory."""

from collections.abc import Sequence

from beirflow.core.layout import MODEL, TERM_WEIGHTS
from beirflow.families.answers import Opened, SearchRequest, nothing_excluded
from beirflow.families.sparse.files import Rows, quantized, read_segments
from beirflow.families.sparse.search import search_segments
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigh import weigher_of
from beirflow.families.sparse.weigher import Weigher
from beirflow.models.model_files import check_model
from beirflow.ranking.ranking import Cut, Hits, byte_order, rank_hits

IN_MEMORY = 6.0  # memory of weights relative to disk, where they are compressed and not in double


def open_answers(request: SearchRequest) -> Opened:
    """Open a sparse system with its weights in memory. Raises NoAnswerError if they do not fit there."""
    settings: SparseSettings = request.system.settings
    check_model(settings, request.file(MODEL))
    weigher = weigher_of(settings, "queries", **request.on)
    paths = request.files(TERM_WEIGHTS)
    request.make_room(paths, IN_MEMORY)
    segments = [segment for path in paths for segment in read_segments(path, settings.quantize)]
    order = byte_order(request.doc_ids, settings.ties)

    def encode(queries: Sequence[str]) -> Rows:
        """Weigh the terms of the queries."""
        return Rows.together(list(weigher.windows(queries, "queries")))

    def answer(queries: Sequence[str]) -> Hits:
        """Weigh the queries and search exactly."""
        weights = quantized(encode(queries), settings.quantize)
        hits, _ = search_segments(weights, segments, Cut(request.top_k, order, nothing_excluded(queries)))
        return rank_hits([hits], request.doc_ids, request.top_k, settings.ties)[:3]

    on_cpu = isinstance(weigher, Weigher) and not weigher.loaded
    where = {"model": "cpu" if on_cpu else weigher.device.type, "weights": "cpu"}
    return Opened(answer, where, weigher.made(), encode)
