"""A fused system that answers one query at a time: its systems answer in turn, and their answers are fused."""

from beirflow.fusion.blocks import fused
from beirflow.fusion.settings import FusionSettings
from beirflow.runs.answers import Asked, Opened, as_hits, as_run, no_hits
from beirflow.runs.ranking import Hits


def open_answers(asked: Asked) -> Opened:
    """Open a fused system, with all its systems in memory at once. Raises NoAnswerError if one of them cannot be asked."""
    settings: FusionSettings = asked.system.settings.with_weights_of(asked.run)
    systems = {name: asked.open(name) for name in settings.of}

    def answer(query: str) -> Hits:
        answers = {name: system.answer(query) for name, system in systems.items()}
        runs = {name: as_run(hits, asked.doc_ids) for name, hits in answers.items()}
        parts = list(fused(settings, [runs[name] for name in settings.of], asked.top_k))
        if not parts:
            return no_hits()
        ((_, doc_ids, scores, _),) = parts
        return as_hits(doc_ids, scores, [(runs[name], answers[name]) for name in systems])

    where = {f"{what} of {name}": place for name, system in systems.items() for what, place in system.where.items()}
    return Opened(
        answer, where, {f"{key} of {name}": value for name, system in systems.items() for key, value in system.made.items()}
    )
