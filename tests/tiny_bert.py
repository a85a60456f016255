"""A BERT with random weights, small enough to run anywhere, saved as transformers saves models."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, BertConfig, BertModel, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [f"w{i}" for i in range(200)]
"""Every word of the vocabulary is one token; any other word is [UNK]."""


def save_tiny_bert(folder: Path, seed: int = 0, layers: int = 2, dim: int = 32, positions: int = 64) -> Path:
    """Save configuration, weights and tokenizer; the same seed gives the same weights."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=dim,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * dim,
        max_position_embeddings=positions,
        initializer_range=0.5,
    )
    BertModel(config).eval().save_pretrained(folder)
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=positions,
    )
    fast.save_pretrained(folder)
    return folder


def save_model(model_type: str, folder: Path, positions: int = 70, pad_token_id: int = 0) -> Path:
    """Save a model of another type, its sizes and its tokenizer those of the tiny BERT."""
    save_tiny_bert(folder)
    bert = AutoConfig.from_pretrained(folder).to_dict()
    shared = {name: bert[name] for name in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")}
    torch.manual_seed(1)
    config = AutoConfig.for_model(
        model_type,
        **shared,
        intermediate_size=64,
        max_position_embeddings=positions,
        pad_token_id=pad_token_id,
        initializer_range=0.5,
    )
    AutoModel.from_config(config).save_pretrained(folder)
    return folder
