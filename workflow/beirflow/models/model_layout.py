"""The files that make a folder a model: configuration, tokenizer, modules, weights."""

import importlib.util
import re
from pathlib import Path

from beirflow.files.errors import ModelError
from beirflow.models.card_modules import RUN_THE_LIBRARY
from beirflow.models.model_json import COLBERT, MODULES, ROUTER_CONFIGS, below, listed_modules, read_object
from beirflow.models.onnx_file import read_onnx
from beirflow.models.settings import ONNX, ModelSettings

WORDS = "whitespacetokenizer_config.json"
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
    WORDS,
)
OF_SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model")
READ_SENTENCEPIECE = ("sentencepiece", "google.protobuf")
WITHOUT_VOCABULARY = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
PATTERNS = ("*.json", "*.jinja", COLBERT, "*.txt", "*.model", "*.codes", "*.bpe", "*.vocab", "*.spm", "*.tiktoken")
"""Files that describe a model, and all that tokenizers read."""

PART = re.compile(r"[\w-][\w.-]*\.(safetensors|bin)")
"""The name of a part of the weights: a file beside its index."""


def module_folders(folder: Path) -> list[Path]:
    """The folder of a model, and those of its modules.

    Args:
        folder: The folder of the model.

    Returns:
        That folder first; then those that ``modules.json`` names, and those that a router in there names, or a router in that.

    Raises:
        ModelError: A module is outside the folder of the model, or the files cannot be read.
    """
    folders = [folder]
    for module in listed_modules(folder) if (folder / MODULES).is_file() else []:
        folders += _with_routes(folder / below(folder, module["path"]))
    return list(dict.fromkeys(folders))


def _with_routes(here: Path) -> list[Path]:
    """The folder of a module, and those of its routes' modules if it is a router."""
    path = next((here / name for name in ROUTER_CONFIGS if (here / name).is_file()), None)
    types = read_object(path).get("types") if path else None
    routed = [here / below(here, name) for name in types] if isinstance(types, dict) else []
    return [here, *(each for place in routed if place != here for each in _with_routes(place))]


def weight_files(folder: Path, weights: str) -> list[Path]:
    """The files with the weights of a backbone, which are those that are loaded.

    Args:
        folder: The folder of the backbone.
        weights: Name of the file that holds them.

    Returns:
        That file, with those that an ONNX graph names; or the parts that its index names; none where neither is there.

    Raises:
        ModelError: An index or a graph names files elsewhere, which no digest would cover.
    """
    whole = folder / weights
    if whole.is_file():
        return [whole, *(whole.with_name(name) for name in read_onnx(whole).elsewhere)] if whole.suffix == ONNX else [whole]
    index = folder / f"{weights}.index.json"
    if not index.is_file():
        return []
    places = read_object(index).get("weight_map")
    names = set(places.values()) if isinstance(places, dict) else set()
    if not names or not all(isinstance(name, str) and PART.fullmatch(name) for name in names):
        raise ModelError(f"{index} names weights outside its folder, or none at all; fetch or save the model again")
    return [folder / name for name in sorted(names)]


def module_weights(folder: Path, weights: str) -> Path:
    """The file with the weights of a module that is no backbone, which is the one that is loaded.

    Args:
        folder: The folder of the module.
        weights: Name of the file that holds those of the backbone, which goes first.

    Returns:
        The first that is there of that name, ``model.safetensors`` and ``pytorch_model.bin``; else ``model.safetensors``.
    """
    names = [name for name in (weights, "model.safetensors", "pytorch_model.bin") if not name.endswith(ONNX)]
    return next((folder / name for name in names if (folder / name).is_file()), folder / "model.safetensors")


def module_weight_files(here: Path, system: ModelSettings, root: Path) -> list[Path]:
    """The files with the weights of one module.

    Args:
        here: The folder of the module.
        system: The system.
        root: The folder of the model.

    Returns:
        One file, or those that an index or a graph names; none where the module has no weights.
    """
    if paths := weight_files(here, system.weights):
        return paths
    return [path for path in [module_weights(here, system.weights)] if here != root and path.is_file()]


def files_that_count(folder: Path, system: ModelSettings) -> list[Path]:
    """The files of a folder that make its model what it is.

    Args:
        folder: The folder of the model.
        system: The system.

    Returns:
        Configuration, tokenizer and weights of every module, sorted.
    """
    folders = module_folders(folder)
    read = {path for here in folders for pattern in PATTERNS for path in here.glob(pattern)}
    return sorted(read | {path for here in folders for path in module_weight_files(here, system, root=folder)})


def incomplete(folder: Path, system: ModelSettings) -> str | None:
    """Return what a folder lacks to be a model.

    Args:
        folder: The folder.
        system: The system.

    Returns:
        A sentence; None if nothing is missing.
    """
    if not (folder / "config.json").is_file() and not (folder / MODULES).is_file():
        return f"{folder} has no config.json, so it is not a model folder"
    try:
        folders = module_folders(folder)
        if not any(_has_tokenizer(here) for here in folders):
            if (folder / MODULES).is_file() and any(each["type"].endswith(".BoW") for each in listed_modules(folder)):
                return f"{folder} has a bag of words (BoW), which beirflow does not read; {RUN_THE_LIBRARY}"
            expected = f"one of {', '.join(TOKENIZER_FILES)} was expected, as tokenizer.save_pretrained writes"
            return f"{folder} has no tokenizer; {expected}"
        if problem := next(filter(None, map(_sentencepiece_problem, folders)), None):
            return problem
        weights = [path for here in folders for path in module_weight_files(here, system, root=folder)]
    except ModelError as error:
        return str(error)
    if not weights:
        graphs = sorted(path.relative_to(folder).as_posix() for path in folder.glob(f"onnx/*{ONNX}"))
        here = f"; it has {', '.join(graphs)}" if graphs else ""
        return f"{folder} has no {system.weights}; save the model as safetensors, or name its file in 'weights'{here}"
    missing = next((path for path in weights if not path.is_file()), None)
    return f"{missing} is missing, though its index or its graph names it; fetch or save the model again" if missing else None


def _has_tokenizer(folder: Path) -> bool:
    """Test whether a folder has a tokenizer; some read bytes or characters and need no vocabulary."""
    config = folder / "tokenizer_config.json"
    kind = read_object(config).get("tokenizer_class") if config.is_file() else None
    return kind in WITHOUT_VOCABULARY or any((folder / name).is_file() for name in TOKENIZER_FILES)


def _sentencepiece_problem(folder: Path) -> str | None:
    """Why a tokenizer cannot be read that is a file of sentencepiece alone, as those of older models are; None if it can."""
    name = next((name for name in OF_SENTENCEPIECE if (folder / name).is_file()), None)
    others = [other for other in TOKENIZER_FILES if other not in OF_SENTENCEPIECE]
    if name is None or any((folder / other).is_file() for other in others) or all(map(_is_installed, READ_SENTENCEPIECE)):
        return None
    todo = "pip install sentencepiece protobuf, or load and save it where they are installed, which writes tokenizer.json"
    return f"{folder} has its tokenizer in {name} alone, which needs packages that are not installed here; {todo}"


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False
