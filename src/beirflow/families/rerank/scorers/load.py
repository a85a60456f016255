"""From the settings of a reranker to its scorer."""

from collections.abc import Callable
from typing import Any

from beirflow.core.errors import model_errors_of
from beirflow.families.rerank.kinds import Kind, kind_of, saved_settings
from beirflow.families.rerank.scorers.cross_encoder import CrossEncoder, PooledCrossEncoder
from beirflow.families.rerank.scorers.encoders import EncodedPairs
from beirflow.families.rerank.scorers.language_models import LogitScorer, MonoT5, Qwen3Reranker
from beirflow.families.rerank.scorers.pair_scorer import PairScorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.model_places import model_folder
from beirflow.models.own_class import load_class
from beirflow.run.by_name import by_name

SCORERS: dict[Kind, type[PairScorer]] = {
    "cross-encoder": CrossEncoder,
    "pooled-cross-encoder": PooledCrossEncoder,
    "logit-score": LogitScorer,
    "monot5": MonoT5,
    "qwen3-reranker": Qwen3Reranker,
}


def load_scorer(system: RerankSettings, *, device: str, precision: str, token_budget: int | str) -> Any:
    """Load the model of a reranker of any kind, with settings for the dataset.

    Raises ModelError if the model is not here, of no known kind, or cannot be loaded whole.
    """
    if system.pairs:
        pairs: Callable[..., EncodedPairs] = by_name(system.pairs)
        return pairs(system.encoder_settings, device=device, precision=precision, token_budget=token_budget)
    if system.encoder:
        return load_class(system, device=device)
    folder = model_folder(system)
    with model_errors_of(f"system {system.name}"):
        kind = kind_of(folder, system)
        saved = saved_settings(folder, kind)
    return SCORERS[kind](system, folder, saved, device=device, precision=precision, token_budget=token_budget)
