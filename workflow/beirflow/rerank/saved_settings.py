"""Settings that sentence-transformers saves beside a reranker, and that change its scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beirflow.files.errors import ModelError
from beirflow.models.card_modules import MODEL_CONFIG
from beirflow.models.model_json import MODULES, below, listed_modules, read_object

SAVED = "config_sentence_transformers.json"

INCREASING = (
    *("Identity", "Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Softplus"),
    *("ELU", "SELU", "CELU", "LeakyReLU"),
)
"""Activations of torch.nn that rank one number as the number itself does, without new ties."""

OF_TWO = ("Identity", "Softmax", "LogSoftmax")
"""Activations after which two logits have the order of their difference."""


def default_prompt(folder: Path) -> str:
    """Return the text that sentence-transformers writes before every query.

    Args:
        folder: The folder of a model.

    Returns:
        The prompt that the folder names as the default one; empty where it names none, whatever prompts it has.

    Raises:
        ModelError: It has no prompt of that name.
    """
    saved = read_optional(folder / SAVED)
    name, prompts = saved.get("default_prompt_name"), saved.get("prompts") or {}
    prompt = "" if name is None else prompts.get(name) if isinstance(prompts, dict) else None
    if not isinstance(prompt, str):
        raise ModelError(f"{folder / SAVED} names {name!r} as its default prompt, which it does not have; add or remove it")
    return prompt


def check_activation(folder: Path, labels: int) -> None:
    """Refuse an activation after which pairs have another order than by their raw logits.

    Args:
        folder: The folder of a model.
        labels: Logits of a pair: 1 or 2.

    Raises:
        ModelError: It names such an activation, or one of its own.
    """
    known = INCREASING if labels == 1 else OF_TWO
    for path, name in _activations(folder):
        if not str(name).startswith("torch.") or str(name).rpartition(".")[2] not in known:
            raise ModelError(
                f"{path} has the activation {name}, after which pairs may have another order than by the logits, which are the"
                f" scores here; known are {', '.join(known)} of torch.nn. To rank by logits, name torch.nn.Identity in a copy"
            )


def _activations(folder: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the activations that a folder names, each with its file: versions of sentence-transformers have three places."""
    config = read_optional(folder / MODEL_CONFIG)
    nested = config.get("sentence_transformers")
    of_config = (
        config.get("sbert_ce_default_activation_function"),
        nested.get("activation_fn") if isinstance(nested, dict) else None,
    )
    yield from ((folder / MODEL_CONFIG, name) for name in of_config if name is not None)
    if (name := read_optional(folder / SAVED).get("activation_fn")) is not None:
        yield folder / SAVED, name


def saved_modules(folder: Path) -> list[dict[str, str]]:
    """Return the modules behind the model itself that sentence-transformers would run.

    Args:
        folder: The folder of a model.

    Returns:
        ``type`` and ``path`` of each; none where sentence-transformers wrote no modules.

    Raises:
        ModelError: The list cannot be read, or the model itself is in another folder.
    """
    if not (folder / MODULES).is_file():
        return []
    own, *others = listed_modules(folder)
    if below(folder, own["path"]):
        raise ModelError(f"{folder / MODULES} has the model in {own['path']}, and not beside it, where rerankers are read")
    return others


def read_optional(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model's folder; nothing of a file that is not there."""
    return read_object(path) if path.is_file() else {}
