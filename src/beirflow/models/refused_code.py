"""Configurations with which transformers would run code of a model folder or of a hub, and versions of it that do."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.core.outside_json import read_optional

FIRST_SAFE_TRANSFORMERS = (5, 3)  # earlier versions run code that a config.json names, whatever they are told (CVE-2026-4372)

KERNELS = ("eager", "sdpa", "flex_attention", "grouped_mm", "batched_mm")
"""Values of keys such as ``attn_implementation`` for which transformers computes with torch alone."""

TOKENIZER_CLASS = re.compile(r"\w*Tokenizer(Fast)?|TokenizersBackend|PythonBackend|SentencePieceBackend")


def refuse_old_transformers(version: str) -> None:
    """Refuse a version of transformers that runs code of a model folder."""
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < FIRST_SAFE_TRANSFORMERS:
        raise ModelError(
            f"transformers {version} is installed, which may run code that a model folder names; at least"
            f" {'.'.join(map(str, FIRST_SAFE_TRANSFORMERS))} is needed: pip install 'beirflow[models]'"
        )


def refuse_code(path: Path, native: Collection[str] = ()) -> None:
    """Refuse a configuration for which transformers would import code or fetch a kernel: at any depth, of models and tokenizers.

    A value such as ``org/name`` of ``attn_implementation``, of its private forms, or of any key with the name of a kernel, names
    code on a hub; ``flash_attention_2`` does so where its package is missing. ``native`` are types of models whose code is left
    aside, since transformers has a class. Raises ModelError.
    """
    held = read_optional(path)
    for key, value in pairs_in(held):
        if key == "auto_map" and value and held.get("model_type") not in native:
            raise ModelError(
                f"{path} has auto_map: the model needs its own code, which beirflow does not run. If the class that"
                " transformers has for it computes the same, say so with a copy of the folder without auto_map"
            )
        texts = [text for _, text in pairs_in({key: value}) if isinstance(text, str)]
        of_kernels = re.fullmatch("_?(attn|experts)_implementation(_internal)?", key)
        if strange := [text for text in texts if "/" in text and ("kernel" in key or "_implementation" in key)]:
            raise ModelError(f"{path} has {key} {strange[0]!r}, code that transformers would fetch and run; remove {key}")
        if of_kernels and (strange := [text for text in texts if text not in KERNELS]):
            raise ModelError(
                f"{path} has {key} {strange[0]!r}, for which transformers may fetch a kernel; known are {', '.join(KERNELS)}."
                f" Remove {key}: beirflow chooses how attention is computed"
            )
        if key in ("kernel_config", "use_kernels", "fusion_config") and value:
            raise ModelError(f"{path} has {key}, with which transformers replaces parts of the model; remove {key}")
        if key == "tokenizer_class" and value and not (isinstance(value, str) and TOKENIZER_CLASS.fullmatch(value)):
            raise ModelError(f"{path} has tokenizer_class {value!r}, which is no tokenizer of transformers; correct it")


def pairs_in(held: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key with its value in a JSON value, at any depth; members of a list have the key of the list."""
    if isinstance(held, dict):
        for name, value in held.items():
            yield str(name), value
            yield from pairs_in(value, str(name))
    elif isinstance(held, list):
        for value in held:
            yield key, value
            yield from pairs_in(value, key)
