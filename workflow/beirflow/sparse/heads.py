"""Load the models of sparse systems by the names of their weights: every weight is used, or the model is refused."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from beirflow.computing.lean_imports import load_lean
from beirflow.computing.model_limits import known_tokens, readable_tokens, refuse_token_types
from beirflow.files.errors import ModelError
from beirflow.models.model_json import read_json_file
from beirflow.sparse.parts import Part
from beirflow.sparse.pooling import Vocabulary

NOT_PART_OF_IT = re.compile(
    r"(.*\.)?(pooler\.(dense\.)?(weight|bias)|cls\.seq_relationship\.(weight|bias)|embeddings\.position_ids)"
)
"""Weights that checkpoints have besides those of the head: of BERT's pooler, of its other task, and numbers of positions."""

PROBE_TOKENS = 12
PROBE_TOLERANCE = 64.0
"""Of the difference of logits that are computed in two steps from the model's own, in units of the precision's rounding."""


class Loaded(NamedTuple):
    """A model that gives hidden states, and what makes weights of them.

    Attributes:
        model: Called with ``input_ids`` and ``attention_mask``.
        output: Name of the hidden states, or of the logits, in what it returns.
        vocabulary: Gives terms their logits; None of ``unicoil``, and where the output is the logits themselves.
        projection: Gives each token one weight, of ``unicoil``; else None.
        terms: Size of the vocabulary.
        longest: Tokens that the model can read.
    """

    model: Any
    output: str
    vocabulary: Vocabulary | None
    projection: torch.nn.Linear | None
    terms: int
    longest: int


def load_part(part: Part, dtype: torch.dtype) -> tuple[Any, Loaded | torch.Tensor | None]:
    """Load the tokenizer of a part, and what weighs its tokens.

    Args:
        part: How texts are weighed.
        dtype: Of weights and activations.

    Returns:
        The tokenizer; and a model, a table of weights, float32 of shape (terms,), or None.

    Raises:
        ModelError: Weights are missing, unused or of another shape; or negative or not finite.
    """
    load = {"splade": _load_splade, "unicoil": _load_unicoil, "sparta": _load_sparta}.get(part.kind)
    try:
        tokenizer = load_lean(partial(_load_tokenizer, part.folder))
        if part.kind == "table":
            return tokenizer, _load_table(part, tokenizer)
        loaded = load_lean(partial(load, part, dtype, tokenizer)) if load else None
        if loaded:
            refuse_token_types(tokenizer, loaded.model, part.folder)
        return tokenizer, loaded
    except ModelError:
        raise
    except Exception as error:  # transformers, safetensors and pickle each have exceptions of their own
        problem = f"the model in {part.folder} cannot be loaded ({type(error).__name__}: {error})"
        todo = "beirflow runs no code from model folders and reads only tensors; save the model again with save_pretrained"
        raise ModelError(f"{problem}; {todo}") from error


def _load_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _load_splade(part: Part, dtype: torch.dtype, tokenizer: Any) -> Loaded:
    """A masked language model: its head up to the last layer and that layer, or the whole head if it cannot be split there."""
    from transformers import AutoModelForMaskedLM

    model = _from_pretrained(AutoModelForMaskedLM, part, dtype).eval()
    known, longest = known_tokens(model), readable_tokens(model)
    ids = torch.tensor([[token for token in range(min(known, PROBE_TOKENS)) if token != tokenizer.pad_token_id][:longest]])
    with torch.inference_mode():
        expected = _logits(model, ids)
        if not bool(expected.isfinite().all()):
            raise ModelError(f"the logits of the {model.config.model_type} model in {part.folder} are not finite")
        vocabulary = _split(model, ids, expected, PROBE_TOLERANCE * torch.finfo(dtype).eps)
    return Loaded(model, "logits", vocabulary, None, expected.shape[-1], longest)


def _logits(model: Any, ids: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    return logits


def _split(model: Any, ids: torch.Tensor, expected: torch.Tensor, tolerance: float) -> Vocabulary | None:
    """Take the last layer out of the model; leave it there, and return None, if its products are not the logits.

    Heads of MobileBERT and of newer DeBERTa read the weights of that layer without calling it.
    """
    last = model.get_output_embeddings()
    place = next((name for name, module in model.named_modules() if module is last), None)
    if not isinstance(last, torch.nn.Linear) or place is None:
        return None
    vocabulary = Vocabulary(last.weight.detach(), None if last.bias is None else last.bias.detach())
    parent, _, name = place.rpartition(".")
    setattr(model.get_submodule(parent), name, torch.nn.Identity())
    if _difference(model, ids, vocabulary, expected) <= tolerance:
        return vocabulary
    setattr(model.get_submodule(parent), name, last)
    return None


def _difference(model: Any, ids: torch.Tensor, vocabulary: Vocabulary, expected: torch.Tensor) -> float:
    """By how much the logits of two steps are not those of the model, over the largest; infinity if there are none."""
    try:
        found = torch.nn.functional.linear(_logits(model, ids), *vocabulary)
    except (AttributeError, IndexError, RuntimeError, TypeError):  # its head does not leave that layer to itself
        return float("inf")
    return float((found.float() - expected.float()).abs().max() / expected.float().abs().max().clamp_min(1e-30))


def _load_sparta(part: Part, dtype: torch.dtype, tokenizer: Any) -> Loaded:
    """A model without a head; its word embeddings give the logits, and special tokens none."""
    from transformers import AutoModel

    model = _from_pretrained(AutoModel, part, dtype)
    matrix = model.get_input_embeddings().weight.detach().clone()
    matrix[[token for token in tokenizer.all_special_ids if token < len(matrix)]] = 0
    return Loaded(model, "last_hidden_state", Vocabulary(matrix, None), None, len(matrix), readable_tokens(model))


def _load_unicoil(part: Part, dtype: torch.dtype, tokenizer: Any) -> Loaded:
    """A BERT and the layer ``tok_proj``, which gives each token its weight."""
    from transformers import AutoConfig, AutoModel

    weights = {name.removeprefix("coil_encoder."): value for name, value in _tensors(part).items()}
    config = AutoConfig.from_pretrained(part.folder, trust_remote_code=False, local_files_only=True)
    model = AutoModel.from_config(config)
    own = {name.removeprefix("bert."): value for name, value in weights.items() if not name.startswith("tok_proj.")}
    missing, unexpected = model.load_state_dict(own, strict=False)
    needed = ("tok_proj.weight", "tok_proj.bias")
    _check(part, [*missing, *(name for name in needed if name not in weights)], unexpected)
    projection = torch.nn.Linear(config.hidden_size, 1)
    if (shape := tuple(weights["tok_proj.weight"].shape)) != (1, config.hidden_size):
        raise ModelError(
            f"the weights in {part.folder} have tok_proj.weight of shape {shape}, expected (1, {config.hidden_size})"
        )
    projection.load_state_dict({"weight": weights["tok_proj.weight"], "bias": weights["tok_proj.bias"]})
    return Loaded(model.to(dtype), "last_hidden_state", None, projection.to(dtype), known_tokens(model), readable_tokens(model))


def _from_pretrained(kind: Any, part: Part, dtype: torch.dtype) -> Any:
    """A model of transformers, all of whose weights are those of the folder."""
    model, report = kind.from_pretrained(
        part.folder,
        dtype=dtype,
        use_safetensors=part.weights[0].suffix == ".safetensors",
        weights_only=True,
        trust_remote_code=False,
        local_files_only=True,
        output_loading_info=True,
    )
    _check(part, report["missing_keys"], report["unexpected_keys"])
    return model.eval()


def _check(part: Part, missing: Sequence[str], unexpected: Sequence[str]) -> None:
    """Refuse weights that leave a part of the model at random, or that no part of it uses."""
    for names, problem in ((missing, "no weights for {}; these would be random"), (unexpected, "unused weights, {}")):
        wrong = sorted(name for name in names if not NOT_PART_OF_IT.fullmatch(name))
        if wrong:
            listed = ", ".join(wrong[:5]) + (" and others" if len(wrong) > 5 else "")
            todo = {
                "splade": "a masked language model with its head",
                "unicoil": "a BERT with tok_proj",
                "sparta": "a bare model",
            }
            expected = f"head: {part.kind} is {todo[part.kind]}; use the head that it was trained with, or save it whole"
            raise ModelError(f"{part.weights[0]} has {problem.format(listed)}. {expected}")


def _tensors(part: Part) -> dict[str, torch.Tensor]:
    """All weights of a part by name, as tensors only."""
    found: dict[str, torch.Tensor] = {}
    for path in part.weights:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            found |= load_file(path)
        else:
            found |= torch.load(path, map_location="cpu", weights_only=True)
    return found


def _load_table(part: Part, tokenizer: Any) -> torch.Tensor:
    """The weight of every token: from a tensor ``weight``, or from a JSON of weights by token."""
    (path,) = part.weights
    if path.suffix == ".json":
        table = _table_of(read_json_file(path), tokenizer.get_vocab(), path)
    else:
        tensors = _tensors(part)
        if set(tensors) != {"weight"} or tensors["weight"].ndim != 1:
            raise ModelError(
                f"{path} has {', '.join(sorted(tensors)) or 'nothing'}; expected one weight per token, named 'weight'"
            )
        table = tensors["weight"].float()
    wrong = (~table.isfinite() | (table < 0)).nonzero().flatten()
    if len(wrong):
        problem = f"{float(table[wrong[0]])!r} for the token {int(wrong[0])}"
        raise ModelError(f"{path} has the weight {problem}; weights of terms are finite and not negative")
    return table


def _table_of(weights: Mapping[str, float], vocabulary: Mapping[str, int], path: Path) -> torch.Tensor:
    unknown = [token for token in weights if token not in vocabulary]
    if unknown:
        raise ModelError(f"{path} has the token {unknown[0]!r}, which the tokenizer beside it does not know")
    table = torch.zeros(max(vocabulary.values()) + 1)
    table[[vocabulary[token] for token in weights]] = torch.tensor(list(weights.values()))
    return table
