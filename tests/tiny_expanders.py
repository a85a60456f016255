"""Models that expand documents, with random weights, in the layouts of hubs: a T5 that writes, a BERT that weighs words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, BertForTokenClassification, MT5ForConditionalGeneration, T5ForConditionalGeneration

from tiny_bert import SPECIAL, WORDS, save_tiny_bert, save_word_pieces, saved_once

PAD, END = SPECIAL.index("[PAD]"), SPECIAL.index("[SEP]")


@saved_once
def save_tiny_t5(
    folder: Path, seed: int = 0, model_type: str = "t5", words: Sequence[str] = WORDS, positions: int = 64, **sizes: Any
) -> Path:
    """A T5 with the tokenizer of the tiny BERT, whose queries end after some words."""
    save_tiny_bert(folder, words=words, positions=positions)
    (folder / "model.safetensors").unlink()
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        model_type,
        **{
            "vocab_size": len(SPECIAL) + len(words),
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "pad_token_id": PAD,
            "eos_token_id": END,
            "decoder_start_token_id": PAD,
            "initializer_factor": 1.5,
            **sizes,
        },
    )
    kind = {"t5": T5ForConditionalGeneration, "mt5": MT5ForConditionalGeneration}[model_type]
    model = kind(config).eval()
    with torch.no_grad():
        model.lm_head.weight[END] *= 1.6
    model.save_pretrained(folder)
    return folder


@saved_once
def save_deepct(folder: Path, seed: int = 0) -> Path:
    """A BERT with a layer that gives each token one weight, and pieces of words, as macavaney/deepct has them."""
    save_tiny_bert(folder, seed)
    pieces = [*SPECIAL, *WORDS[:60], *(f"##{letter}" for letter in "abcdefgh"), "un", "##able"]
    save_word_pieces(folder, pieces, positions=64)
    torch.manual_seed(seed)
    config = AutoConfig.from_pretrained(folder, num_labels=1)
    BertForTokenClassification(config).eval().save_pretrained(folder)
    return folder
