"""Cross-encoders of a Transformer, a Pooling and a Dense have the scores that sentence-transformers' CrossEncoder gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beirflow.files.errors import ModelError
from beirflow.rerank.load import load_scorer
from beirflow.rerank.pair_scorer import PairScorer
from beirflow.rerank.settings import RerankSettings
from tiny_bert import save_tiny_bert
from workflow_runs import words
from zoo import change_json

PAIRS = [(words(i, 1 + i % 9), words(50 + i, (7 * i) % 80)) for i in range(20)] + [("", "")]


def save(folder: Path, mode: str = "cls", out: int = 1, activation: Any = None, **settings: Any) -> Path:
    """Save a tiny model as sentence-transformers does, and return its folder."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(2)
    dense = Dense(32, out, activation_function=activation or torch.nn.Identity(), module_output_name="scores")
    modules = [Transformer(str(save_tiny_bert(folder / "plain"))), Pooling(32, mode), dense]
    CrossEncoder(modules=modules, device="cpu", **settings).save_pretrained(str(folder / "saved"))
    return folder / "saved"


def loaded(folder: Path) -> PairScorer:
    settings = RerankSettings("crossed", str(folder), first="bm25")
    scorer = load_scorer(settings, device="cpu", precision="float32", token_budget=300)
    assert isinstance(scorer, PairScorer)
    return scorer


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("cls", {}),
        ("mean", {"activation": torch.nn.Tanh()}),
        ("max", {"prompts": {"find": "w3 w4 "}, "default_prompt_name": "find"}),
    ],
)
def test_scores_are_those_of_sentence_transformers(tmp_path: Path, mode: str, settings: dict[str, Any]) -> None:
    from sentence_transformers import CrossEncoder

    folder = save(tmp_path, mode, **settings)
    peer = CrossEncoder(str(folder), device="cpu", local_files_only=True, activation_fn=torch.nn.Identity())
    expected = peer.predict(PAIRS, show_progress_bar=False)
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(loaded(folder).scores(PAIRS), expected, rtol=1e-5, atol=1e-5)


def test_what_is_not_done_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"system crossed: .*2_Dense makes 2 numbers .* one was expected"):
        loaded(save(tmp_path / "two", out=2))
    folder = save(tmp_path / "one", prompts={"find": "w3 "}, default_prompt_name="find")
    change_json(folder / "1_Pooling/config.json", include_prompt=False)
    with pytest.raises(ModelError, match=r"system crossed: .* leaves the tokens of its prompt out of the pooling"):
        loaded(folder)
    change_json(folder / "config_sentence_transformers.json", activation_fn="torch.nn.modules.activation.GELU")
    with pytest.raises(ModelError, match=r"the activation torch.*GELU"):
        loaded(folder)
