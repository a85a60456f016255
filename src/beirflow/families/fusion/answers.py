"""A fused system that answers queries: its systems answer in turn, and their answers are fused."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from beirflow.families.answers import Opened, SearchRequest, as_hits, as_run
from beirflow.families.fusion.blocks import fused
from beirflow.families.fusion.settings import FusionSettings
from beirflow.ranking.ranking import Hits, no_hits


def open_answers(request: SearchRequest) -> Opened:
    """Open a fused system, with all its systems in memory at once. Raises NoAnswerError if one of them cannot answer."""
    settings: FusionSettings = request.system.settings.with_weights_of(request.run)
    systems = {name: request.open(name) for name in settings.of}

    def answer(queries: Sequence[str]) -> Hits:
        """Answer with every system and fuse their hits."""
        answers = {name: system.answer(queries) for name, system in systems.items()}
        runs = {name: as_run(hits, request.doc_ids) for name, hits in answers.items()}
        parts = list(fused(settings, [runs[name] for name in settings.of], request.top_k))
        if not parts:
            return no_hits()
        query_ids, doc_ids, scores, _ = zip(*parts, strict=True)
        known = [(runs[name], answers[name]) for name in systems]
        return as_hits(pa.concat_arrays(query_ids), pa.concat_arrays(doc_ids), np.concatenate(scores), known)

    where = {f"{what} of {name}": place for name, system in systems.items() for what, place in system.where.items()}
    return Opened(
        answer, where, {f"{key} of {name}": value for name, system in systems.items() for key, value in system.made.items()}
    )
