"""Language models that say whether a document is relevant, with random weights, in the layouts of hubs."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5TokenizerFast,
)

from tiny_bert import WORDS, saved_once

T5_SPECIAL = ["<pad>", "</s>", "<unk>"]
QWEN_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
LETTERS = [chr(code) for code in range(33, 127)]


@saved_once
def save_tiny_monot5(folder: Path, seed: int = 0, words: tuple[str, ...] = ("▁true", "▁false"), **config: Any) -> Path:
    """A T5 and a tokenizer of pieces, as sentencepiece has them: words, letters, and the space before a word."""
    pieces = ["▁", *(f"▁{word}" for word in WORDS), *LETTERS, "▁Query", "▁Document", "▁Re", "levant", *words]
    vocabulary = [(piece, 0.0) for piece in T5_SPECIAL] + [(piece, -1.0 - 3 * (len(piece) == 1)) for piece in pieces]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=2, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    _save_tokenizer(tokenizer, folder, T5TokenizerFast, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", extra_ids=0)
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": len(vocabulary)}
    size = {**sizes, "initializer_factor": 1.5, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    return _save(AutoModelForSeq2SeqLM, folder, seed, "t5", **size | config)


@saved_once
def save_tiny_qwen3(folder: Path, seed: int = 0, words: tuple[str, ...] = ("yes", "no"), **config: Any) -> Path:
    """A Qwen3 and a tokenizer that merges bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merged, merges = [], []
    for word in (*words, "Ġw", "Ġyes"):
        for end in range(2, len(word) + 1):
            if word[:end] not in merged:
                merged.append(word[:end])
                merges.append((word[: end - 1], word[end - 1]))
    vocabulary = {piece: number for number, piece in enumerate([*alphabet, *merged])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(QWEN_SPECIAL)
    _save_tokenizer(
        tokenizer, folder, PreTrainedTokenizerFast, pad_token="<|endoftext|>", eos_token="<|im_end|>", padding_side="left"
    )
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    size = {**sizes, "head_dim": 8, "vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": 4096}
    return _save(
        AutoModelForCausalLM, folder, seed, "qwen3", initializer_range=0.3, **size | {"tie_word_embeddings": True} | config
    )


def _save_tokenizer(tokenizer: Tokenizer, folder: Path, kind: type, **settings: Any) -> None:
    kind(tokenizer_object=tokenizer, model_max_length=512, **settings).save_pretrained(folder)


def _save(kind: Any, folder: Path, seed: int, model_type: str, **settings: Any) -> Path:
    torch.manual_seed(seed)
    model: PreTrainedModel = kind.from_config(AutoConfig.for_model(model_type, **settings)).eval()
    model.save_pretrained(folder)
    return folder
