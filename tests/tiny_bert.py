"""A BERT with random weights, small enough to run anywhere, saved as transformers saves models."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Concatenate, ParamSpec

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel, BertConfig, BertModel, PreTrainedTokenizerFast

from vocabulary import WORDS as WORDS

Weights = dict[str, torch.Tensor]

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
DIM = 32
SIZES: dict[str, Any] = {
    "vocab_size": len(SPECIAL) + len(WORDS),
    "hidden_size": DIM,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "initializer_range": 0.5,
}

DECODER = {"num_key_value_heads": 1, "head_dim": 16}
WINDOW = {**DECODER, "sliding_window": 8}
ARCHITECTURES: list[tuple[str, dict[str, Any], str]] = [
    *[(kind, {}, pooling) for kind in ("bert", "roberta", "xlm-roberta") for pooling in ("mean", "cls", "pooler")],
    *[("bert", {"is_decoder": True}, "lasttoken"), ("camembert", {}, "cls"), ("electra", {"embedding_size": 32}, "cls")],
    *[("distilbert", {}, "mean"), ("modernbert", {"local_attention": 8}, "cls"), ("nomic_bert", {}, "mean")],
    *[("eurobert", DECODER, "mean"), ("llama", DECODER, "lasttoken"), ("mistral", WINDOW, "lasttoken")],
    *[("qwen2", DECODER, "mean"), ("qwen3", DECODER, "lasttoken"), ("gemma3_text", WINDOW, "mean")],
    ("gemma3_text", {**WINDOW, "use_bidirectional_attention": True}, "lasttoken"),
]
"""Encoders whose texts can be packed: type, sizes and pooling."""


Arguments = ParamSpec("Arguments")
SavesModel = Callable[Concatenate[Path, Arguments], Path]


def saved_once(save: SavesModel[Arguments]) -> SavesModel[Arguments]:
    """Let a function that saves a model compute it once in this process; the same arguments then give copies of its files."""
    kept: dict[str, dict[Path, bytes]] = {}

    @wraps(save)
    def save_copies(folder: Path, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Path:
        arguments = repr((args, kwargs))
        if arguments not in kept:
            with TemporaryDirectory() as made:
                save(Path(made), *args, **kwargs)
                files = [path for path in Path(made).rglob("*") if path.is_file()]
                kept[arguments] = {path.relative_to(made): path.read_bytes() for path in files}
        for place, content in kept[arguments].items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(content)
        torch.manual_seed(0)  # what a test draws next does not depend on the tests before it
        return folder

    return save_copies


def change_weights(folder: Path, change: Callable[[Weights], Weights]) -> None:
    """Change the weights of a saved model."""
    path = folder / "model.safetensors"
    save_file({name: value.contiguous() for name, value in change(load_file(path)).items()}, path, {"format": "pt"})


def without(*names: str) -> Callable[[Weights], Weights]:
    """A change that takes the weights away whose names begin so."""
    return lambda weights: {name: value for name, value in weights.items() if not name.startswith(names)}


def having(name: str, value: torch.Tensor) -> Callable[[Weights], Weights]:
    """A change that adds or replaces one weight."""
    return lambda weights: weights | {name: value}


def having_row(name: str, row: int, value: float) -> Callable[[Weights], Weights]:
    """A change of one row of a weight."""
    return lambda weights: weights | {name: weights[name].index_fill(0, torch.tensor(row), value)}


@saved_once
def save_tiny_bert(
    folder: Path, seed: int = 0, layers: int = 2, dim: int = 32, positions: int = 64, words: Sequence[str] = WORDS
) -> Path:
    """Save configuration, weights and tokenizer; the same seed gives the same weights."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(words),
        hidden_size=dim,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * dim,
        max_position_embeddings=positions,
        initializer_range=0.5,
    )
    BertModel(config).eval().save_pretrained(folder)
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    save_tokenizer(folder, tokenizer, positions)
    return folder


def save_word_pieces(folder: Path, pieces: Sequence[str], positions: int) -> None:
    """Save the steps of BERT's own tokenizer over a vocabulary that begins with the special tokens."""
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    save_tokenizer(folder, tokenizer, positions)


def save_tokenizer(folder: Path, tokenizer: Tokenizer, positions: int) -> None:
    """Save a tokenizer that puts texts between [CLS] and [SEP]."""
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


def save_model(model_type: str, folder: Path, positions: int = 70, **sizes: Any) -> Path:
    """Save a model of another type, its sizes, but for those that are given, and its tokenizer those of the tiny BERT."""
    return _save_model(folder, model_type, positions, **sizes)


@saved_once
def _save_model(folder: Path, model_type: str, positions: int, **sizes: Any) -> Path:
    save_tiny_bert(folder)
    torch.manual_seed(1)
    config = AutoConfig.for_model(model_type, **{**SIZES, "max_position_embeddings": positions, **sizes})
    AutoModel.from_config(config).eval().save_pretrained(folder)
    return folder
