"""The files that make a folder a model: configuration, tokenizer, modules, weights."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from beirflow.core.errors import ModelError
from beirflow.models.card_modules import RUN_THE_LIBRARY
from beirflow.models.model_json import (
    COLBERT,
    MODULES,
    ROUTER_CONFIGS,
    below,
    check_file,
    listed_modules,
    read_object,
)
from beirflow.models.onnx_file import read_onnx
from beirflow.models.settings import ONNX, ModelSettings
from beirflow.models.tokenizer_growth import check_growth

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
WITHOUT_TOKENIZER = ("BoW", "WordEmbeddings")  # modules of sentence-transformers with another tokenizer than those
PATTERNS = ("*.json", "*.jinja", COLBERT, "*.txt", "*.model", "*.codes", "*.bpe", "*.vocab", "*.spm", "*.tiktoken")
"""Files that describe a model, and all that tokenizers read."""

UNREAD = (".*", "*/.*", "onnx/*", "openvino/*", "*.h5", "*.msgpack", "*.ot", "*.gguf")
"""Patterns of files in a model's folder that sentence-transformers does not read: hidden ones, and weights of other libraries."""

MOST_FILES = 1000  # in a folder whose files all count

LARGEST_DESCRIPTION = 1 << 30  # maximum size of any of them, in bytes

PART = re.compile(r"[\w-][\w.-]*\.(safetensors|bin)")  # the name of a part of the weights: a file in the folder of its index


def module_folders(folder: Path) -> list[Path]:
    """Return the folder of a model, then those of the modules in ``modules.json`` and in routers, at any depth.

    Raises ModelError for a module outside the folder, or files that cannot be read.
    """
    folders = [folder]
    for module in listed_modules(folder):
        folders += _with_routes(folder / module.place)
    return list(dict.fromkeys(folders))


def _with_routes(here: Path) -> list[Path]:
    """Return the folder of a module, and those of its routes' modules if it is a router."""
    path = next((here / name for name in ROUTER_CONFIGS if (here / name).is_file()), None)
    types = read_object(path).get("types") if path else None
    routed = [here / below(here, name) for name in types] if isinstance(types, dict) else []
    return [here, *(each for place in routed if place != here for each in _with_routes(place))]


def all_files(folder: Path) -> list[Path]:
    """Return the regular files in a folder, at any depth, sorted; ModelError if they are too many."""
    paths = list(islice(filter(Path.is_file, folder.rglob("*")), MOST_FILES + 1))
    if len(paths) > MOST_FILES:
        raise ModelError(f"{folder} has more than {MOST_FILES} files; name the folder of the model alone")
    return sorted(paths)


def is_unread(path: Path) -> bool:
    """Test whether a path below a model's folder is of the :data:`UNREAD`, in which ``*`` matches slashes too, as on the hub."""
    return any(fnmatchcase(path.as_posix(), pattern) for pattern in UNREAD)


def weight_files(folder: Path, weights: str) -> list[Path]:
    """Return the files with the weights of a backbone, exactly those that are loaded; empty without weights.

    An ONNX graph names further files, an index the parts. Raises ModelError for files elsewhere, which no digest would cover.
    """
    whole = folder / weights
    if whole.is_file():
        return [whole, *(whole.with_name(name) for name in read_onnx(whole).elsewhere)] if whole.suffix == ONNX else [whole]
    index = folder / f"{weights}.index.json"
    if not index.is_file():
        return []
    places = read_object(index).get("weight_map")
    names = set(places.values()) if isinstance(places, dict) else set()
    # Parts in the folder of the index only: anything else would not be among the hashed files.
    if not names or not all(isinstance(name, str) and PART.fullmatch(name) for name in names):
        raise ModelError(f"{index} names weights outside its folder, or none at all; fetch or save the model again")
    return [folder / name for name in sorted(names)]


def module_weights(folder: Path, weights: str) -> Path:
    """Return the file that the weights of a module other than a backbone are loaded from.

    It is the first that exists of the backbone's file name, ``model.safetensors`` and ``pytorch_model.bin``; else
    ``model.safetensors``.
    """
    names = [name for name in (weights, "model.safetensors", "pytorch_model.bin") if not name.endswith(ONNX)]
    return next((folder / name for name in names if (folder / name).is_file()), folder / "model.safetensors")


def module_weight_files(here: Path, weights: str, root: Path) -> list[Path]:
    """Return the files with the weights of the module in ``here``, in the model folder ``root``; empty without weights."""
    if paths := weight_files(here, weights):
        return paths
    return [path for path in [module_weights(here, weights)] if here != root and path.is_file()]


def files_that_count(folder: Path, system: ModelSettings) -> list[Path]:
    """Return the files that define the model in a folder, sorted: configuration, tokenizer and weights of every module.

    They are all files that a library may read, if one computes the model.
    """
    if system.encoder:
        return [path for path in all_files(folder) if not is_unread(path.relative_to(folder))]
    folders = module_folders(folder)
    weights = (module_weight_files(here, system.weights, folder) for here in folders)
    return sorted(described_in(folders).union(*weights))


def described_in(folders: Iterable[Path]) -> set[Path]:
    """Return the files in some folders that describe a model or its tokenizer; refuse a device or an absurd size among them."""
    paths = {path for here in folders for pattern in PATTERNS for path in here.glob(pattern) if not path.is_dir()}
    for path in sorted(paths):
        check_file(path, LARGEST_DESCRIPTION)
    return paths


def incomplete(folder: Path, system: ModelSettings) -> str | None:
    """Return, in a sentence, what a folder lacks to be the model of a system; None if it is complete, or a library knows."""
    if system.encoder:
        return None
    if not (folder / "config.json").is_file() and not (folder / MODULES).is_file():
        return f"{folder} has no config.json, so it is not a model folder"
    try:
        folders = module_folders(folder)
        described_in(folders)
        if not any((here / name).is_file() for here in folders for name in TOKENIZER_FILES):
            if names := [module.name for module in listed_modules(folder) if module.name in WITHOUT_TOKENIZER]:
                return f"{folder} has a {names[0]} module, which beirflow does not read; {RUN_THE_LIBRARY}"
            expected = f"one of {', '.join(TOKENIZER_FILES)} was expected, as tokenizer.save_pretrained writes"
            return f"{folder} has no tokenizer; {expected}. Of a model without a vocabulary, {RUN_THE_LIBRARY}"
        for each in folders:
            check_growth(each)
        weights = [path for here in folders for path in module_weight_files(here, system.weights, folder)]
    except ModelError as error:
        return str(error)
    if not weights:
        graphs = sorted(path.relative_to(folder).as_posix() for path in folder.glob(f"onnx/*{ONNX}"))
        here = f"; it has {', '.join(graphs)}" if graphs else ""
        return f"{folder} has no {system.weights}; save the model as safetensors, or name its file in 'weights'{here}"
    missing = next((path for path in weights if not path.is_file()), None)
    return f"{missing} is missing, though its index or its graph names it; fetch or save the model again" if missing else None
