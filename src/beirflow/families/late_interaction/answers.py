"""A late-interaction system that answers queries: its encoder and all token vectors stay in memory.

On a CPU they are float32, as in the comparison, and take twice the stored size; no index leaves documents out.
"""

from collections.abc import Sequence

import numpy as np
import torch

from beirflow.core.layout import MODEL, TOKEN_VECTORS
from beirflow.families.answers import Opened, SearchRequest, nothing_excluded
from beirflow.families.late_interaction.encoder import encoder_of
from beirflow.families.late_interaction.search import arranged, exact_top_k
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors, read_segments
from beirflow.models.model_files import check_model
from beirflow.ranking.ranking import Cut, Hits, byte_order

IN_MEMORY = 2.5  # memory of token vectors relative to disk: float32 instead of float16, plus padding


def open_answers(request: SearchRequest) -> Opened:
    """Open a system of late interaction with its vectors on the device.

    Raises NoAnswerError if the vectors do not fit into memory.
    """
    settings: LateSettings = request.system.settings
    device = torch.device(request.device)
    check_model(settings, request.file(MODEL))
    encoder = encoder_of(settings, "queries", **request.on)
    paths = request.files(TOKEN_VECTORS)
    if request.device == "cpu":
        request.make_room(paths, IN_MEMORY)
    parts = [
        arranged(segment._replace(rows=segment.rows + np.int32(first)), device)
        for first, path in zip(request.firsts, paths, strict=True)
        for segment in read_segments(path)
    ]
    order = byte_order(request.doc_ids)

    def encode(queries: Sequence[str]) -> TokenVectors:
        """Encode the queries."""
        return TokenVectors.together(list(encoder.windows(queries)))

    def answer(queries: Sequence[str]) -> Hits:
        """Encode the queries and search exactly."""
        cut = Cut(request.top_k, order, nothing_excluded(queries))
        return exact_top_k(encode(queries), lambda: parts, cut, device=device)

    return Opened(answer, {"model": device.type, "vectors": device.type}, encoder.made(), encode)
