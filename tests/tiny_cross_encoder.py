"""Cross-encoders with random weights, small enough to run anywhere, saved as transformers saves models."""

from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from tiny_bert import SPECIAL, WORDS, save_tiny_bert, saved_once

KINDS = ("bert", "electra", "modernbert", "xlm-roberta", "distilbert")


@saved_once
def save_cross_encoder(folder: Path, kind: str = "bert", labels: int = 1, seed: int = 0, positions: int = 64) -> Path:
    """Save configuration, weights and the tokenizer of the tiny BERT."""
    save_tiny_bert(folder, positions=positions)
    torch.manual_seed(seed)
    sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64} if kind == "distilbert" else {"intermediate_size": 64}
    attention = {} if kind == "distilbert" else {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(SPECIAL) + len(WORDS),
        max_position_embeddings=positions + 2 * (kind == "xlm-roberta"),
        pad_token_id=1 if kind == "xlm-roberta" else 0,
        num_labels=labels,
        initializer_range=0.4,
        **sizes,
        **attention,
    )
    model = AutoModelForSequenceClassification.from_config(config).eval()
    model.save_pretrained(folder)
    return folder


def save_with_head(backbone: Path, folder: Path, labels: int = 1) -> Path:
    """A real encoder with a head whose weights are random."""
    torch.manual_seed(3)
    model = AutoModelForSequenceClassification.from_pretrained(backbone, num_labels=labels)
    missing = AutoModel.from_pretrained(backbone, output_loading_info=True)[1]["missing_keys"]
    assert not missing
    torch.nn.init.normal_(model.classifier.weight, std=0.5)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(backbone).save_pretrained(folder)
    return folder
