"""From the settings of a reranker to its scorer."""

from collections.abc import Callable

from beirflow.files.errors import model_errors_of
from beirflow.jobs.by_name import by_name
from beirflow.models.model_places import model_folder
from beirflow.rerank.kinds import Kind, kind_of
from beirflow.rerank.scorers.cross_encoder import CrossEncoder, PooledCrossEncoder
from beirflow.rerank.scorers.encoders import EncodedPairs
from beirflow.rerank.scorers.language_models import MonoT5, Qwen3Reranker
from beirflow.rerank.scorers.logit_score import LogitScorer
from beirflow.rerank.scorers.pair_scorer import PairScorer
from beirflow.rerank.settings import RerankSettings

SCORERS: dict[Kind, type[PairScorer]] = {
    "cross-encoder": CrossEncoder,
    "pooled-cross-encoder": PooledCrossEncoder,
    "logit-score": LogitScorer,
    "monot5": MonoT5,
    "qwen3-reranker": Qwen3Reranker,
}


def load_scorer(system: RerankSettings, *, device: str, precision: str, token_budget: int | str) -> PairScorer | EncodedPairs:
    """Load the model of a reranker of any kind, with settings for the dataset.

    Raises ModelError if the model is not here, of no known kind, or cannot be loaded whole.
    """
    if system.pairs:
        kind: Callable[..., EncodedPairs] = by_name(system.pairs)
        return kind(system.encoder_settings, device=device, precision=precision, token_budget=token_budget)
    folder = model_folder(system)
    with model_errors_of(f"system {system.name}"):
        scorer = SCORERS[kind_of(folder, system)]
    return scorer(system, folder, device=device, precision=precision, token_budget=token_budget)
