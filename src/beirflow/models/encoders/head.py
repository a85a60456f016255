"""The modules after pooling: Dense, LayerNorm and Normalize of sentence-transformers."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from beirflow.core.errors import ModelError
from beirflow.models.card import Step
from beirflow.models.card_modules import MODEL_CONFIG
from beirflow.models.computing.loading import read_tensors
from beirflow.models.model_json import read_optional
from beirflow.models.model_layout import module_weights


class Dense(nn.Module):
    """A linear layer, an activation, and optionally a residual connection around both.

    The weights are ``linear.weight``, optionally ``linear.bias``, and ``residual.weight`` where the dimensions differ; the
    activation is a name in ``torch.nn``.
    """

    def __init__(self, weights: dict[str, torch.Tensor], activation: str, *, residual: bool) -> None:
        super().__init__()
        self.linear = _linear(weights, "linear")
        self.activation = getattr(nn, activation)()
        self.around: nn.Module | None = None
        if residual:
            self.around = _linear(weights, "residual") if "residual.weight" in weights else nn.Identity()

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Transform vectors of shape (n, in) to (n, out)."""
        out = self.activation(self.linear(vectors))
        return out if self.around is None else out + self.around(vectors)


class Normalize(nn.Module):
    """Scaling of vectors to length 1; a vector of zeros stays one."""

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Scale vectors of shape (n, dim)."""
        return nn.functional.normalize(vectors, dim=1)


def load_head(folder: Path, steps: Sequence[Step], weights: str) -> nn.Sequential:
    """Load the steps after pooling, in float32, as modules from (n, dim) to (n, another dim).

    ``weights`` names the backbone's file; those of modules may be called otherwise. Raises ModelError for a missing or unreadable
    file of weights, or one with other weights than its module has.
    """
    modules = [Normalize() if step.kind == "normalize" else _module(folder / step.folder, step, weights) for step in steps]
    return nn.Sequential(*filter(None, modules)).eval().requires_grad_(False)


def _module(here: Path, step: Step, weights: str) -> nn.Module | None:
    """Load the module of one step; None for another kind of step."""
    if step.kind not in ("dense", "layer_norm"):
        return None
    tensors = module_tensors(here, weights)
    # A module in the folder of the model itself shares its file with the backbone.
    if step.folder and (unused := sorted(set(tensors) - _names(step))):
        raise ModelError(f"{here} has weights that its module does not use: {', '.join(unused[:5])}")
    if step.kind == "dense" and step.folder:
        _check_dense(here, tensors)
    try:
        if step.kind == "dense":
            return Dense(tensors, step.settings["activation"], residual=step.settings["residual"])
        norm = nn.LayerNorm(len(tensors["norm.weight"]))
        norm.load_state_dict({"weight": tensors["norm.weight"], "bias": tensors["norm.bias"]})
    except (KeyError, RuntimeError) as error:
        raise ModelError(f"{here} has not the weights of its module ({error}); save the model again") from error
    return norm


def _check_dense(here: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Refuse weights that are not those of the layer that ``config.json`` describes."""
    config = read_optional(here / MODEL_CONFIG)
    shape = tensors["linear.weight"].shape if "linear.weight" in tensors else (None, None)
    actual = {"out_features": shape[0], "in_features": shape[1], "bias": "linear.bias" in tensors}
    if wrong := [key for key, value in actual.items() if config.get(key, value) != value]:
        described = ", ".join(f"{key} {actual[key]}, and {MODEL_CONFIG} says {config[key]}" for key in wrong)
        raise ModelError(f"{here} has weights with {described}; save the model again")


def _names(step: Step) -> set[str]:
    if step.kind == "layer_norm":
        return {"norm.weight", "norm.bias"}
    return {"linear.weight", "linear.bias"} | ({"residual.weight"} if step.settings["residual"] else set())


def _linear(weights: dict[str, torch.Tensor], name: str) -> nn.Linear:
    matrix, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
    layer = nn.Linear(matrix.shape[1], matrix.shape[0], bias=bias is not None)
    layer.load_state_dict({"weight": matrix} | ({} if bias is None else {"bias": bias}))
    return layer


def module_tensors(folder: Path, weights: str) -> dict[str, torch.Tensor]:
    """Read the weights of the module in a folder by name, in float32, or of integers.

    ``weights`` is as for :func:`~beirflow.models.model_layout.module_weights`. Raises ModelError for a missing or unreadable
    file.
    """
    path = module_weights(folder, weights)
    if not path.is_file():
        raise ModelError(
            f"{path} is missing, but the files of the model name a module there; fetch or copy the model again, with its folders"
        )
    try:
        tensors = read_tensors(path)
    except Exception as error:  # safetensors and pickle each have exceptions of their own
        raise ModelError(f"{path} cannot be read as weights ({type(error).__name__}); fetch or save the model again") from error
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
