"""Where a model's files are: on a hub at a pinned revision, in a folder, or in a Python package."""

import importlib.util
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from beirflow.files.digests import file_digest
from beirflow.files.errors import ModelError
from beirflow.files.records import Job, read_json, write_record
from beirflow.files.verified import damaged
from beirflow.models.card import Card, joined, with_settings
from beirflow.models.card_files import read_card
from beirflow.models.model_json import COLBERT, MODULES, below, listed_modules, read_object
from beirflow.models.onnx_file import read_onnx
from beirflow.models.own_class import class_files, class_problem
from beirflow.models.settings import ONNX, EncoderSettings, ModelSettings

logger = logging.getLogger(__name__)

Settings = TypeVar("Settings", bound=ModelSettings)

PACKAGE = "package:"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
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
WITHOUT_VOCABULARY = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
PATTERNS = ("*.json", COLBERT, "*.txt", "*.model", "*.codes", "*.bpe", "*.vocab", "*.spm", "*.tiktoken")
"""Files that describe a model, and all that tokenizers read."""

PART = re.compile(r"[\w-][\w.-]*\.(safetensors|bin)")
"""The name of a part of the weights: a file beside its index."""


def local_folder(system: ModelSettings) -> Path | None:
    """The folder of a model that needs no hub.

    Args:
        system: The system.

    Returns:
        The folder, which may not exist; None for a model on the hub, unless an installed package ships the same weights.
    """
    if system.offline and (folder := _package_folder(system.offline)):
        return folder
    if system.model.startswith(PACKAGE):
        return _package_folder(system.model) or Path(system.model)
    path = Path(system.model).expanduser()
    return path if path.is_dir() or not HUB_ID.fullmatch(system.model) else None


def is_local(system: ModelSettings) -> bool:
    """Whether all models of a system need no hub."""
    return all(local_folder(tower) is not None for tower in towers(system))


def _package_folder(location: str) -> Path | None:
    """Folder that a package ships, without importing the package; None if the package is not installed."""
    package, _, folder = location.removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(package) if "." not in package else None
    return Path(spec.submodule_search_locations[0], folder) if spec and spec.submodule_search_locations else None


def model_problem(system: ModelSettings) -> str | None:
    """What keeps a system's model from being used, as far as a look at the disk can tell.

    Args:
        system: The system.

    Returns:
        A sentence that says what is missing and what to do; None if nothing is.
    """
    if system.encoder:
        return class_problem(system)
    problems = (_problem(tower) for tower in towers(system))
    return next((problem for problem in problems if problem), None)


def next_to_record(system: Settings, record_path: str | Path) -> Settings:
    """A model that was trained here has no place in its settings: it is next to its record.

    Args:
        system: The system.
        record_path: The record of its model.

    Returns:
        The system with the folder of that name as its model; any other system as it is.
    """
    return system if system.source else replace(system, model=str(Path(record_path).with_suffix("")))


def _problem(system: ModelSettings) -> str | None:
    """What keeps one model from being used."""
    folder = local_folder(system)
    if folder is None:
        return (
            None
            if system.revision
            else "no such folder is here, so this is a hub model, which needs 'revision', the 40-digit commit that pins it"
        )
    if not folder.is_dir():
        if system.model.startswith(PACKAGE):
            package = system.model.removeprefix(PACKAGE).partition("/")[0]
            return f"the Python package {package!r} with this folder is not installed; install it, or name a folder or a hub id"
        return "nothing is there; expected a folder, a hub id such as 'facebook/contriever', or package:<import name>/<folder>"
    return _incomplete(folder, system)


def towers(system: Settings) -> list[Settings]:
    """The models of a system, each as a system of its own.

    Args:
        system: The system.

    Returns:
        That of the documents; and that of the queries, where they have another.
    """
    documents = replace(system, query_model=None, query_revision=None)
    if system.query_model is None:
        return [documents]
    queries = replace(documents, model=system.query_model, revision=system.query_revision, offline=None, weights_sha256=None)
    return [documents, queries]


def _incomplete(folder: Path, system: ModelSettings) -> str | None:
    """What a folder lacks to be a model."""
    if not (folder / "config.json").is_file() and not (folder / MODULES).is_file():
        return f"{folder} has no config.json, so it is not a model folder"
    try:
        folders = module_folders(folder)
        if not any(_has_tokenizer(here) for here in folders):
            expected = f"one of {', '.join(TOKENIZER_FILES)} was expected, as tokenizer.save_pretrained writes"
            return f"{folder} has no tokenizer; {expected}"
        if problem := next(filter(None, map(_sentencepiece_problem, folders)), None):
            return problem
        found = [path for here in folders for path in _weight_files(here, system, root=folder)]
    except ModelError as error:
        return str(error)
    if not found:
        graphs = sorted(path.relative_to(folder).as_posix() for path in folder.glob(f"onnx/*{ONNX}"))
        here = f"; it has {', '.join(graphs)}" if graphs else ""
        return f"{folder} has no {system.weights}; save the model as safetensors, or name its file in 'weights'{here}"
    missing = next((path for path in found if not path.is_file()), None)
    return f"{missing} is missing, though its index or its graph names it; fetch or save the model again" if missing else None


def _has_tokenizer(folder: Path) -> bool:
    """Whether a folder has a tokenizer; some read bytes or characters and need no vocabulary."""
    config = folder / "tokenizer_config.json"
    kind = read_object(config).get("tokenizer_class") if config.is_file() else None
    return kind in WITHOUT_VOCABULARY or any((folder / name).is_file() for name in TOKENIZER_FILES)


def _sentencepiece_problem(folder: Path) -> str | None:
    """Why a tokenizer cannot be read that is a file of sentencepiece alone, as those of older models are; None if it can."""
    name = next((name for name in OF_SENTENCEPIECE if (folder / name).is_file()), None)
    absent = [package for package in ("sentencepiece", "google.protobuf") if not _is_installed(package)]
    if (
        name is None
        or not absent
        or any((folder / other).is_file() for other in TOKENIZER_FILES if other not in OF_SENTENCEPIECE)
    ):
        return None
    todo = "pip install sentencepiece protobuf, or load it where they are and save it again, which writes tokenizer.json"
    return f"{folder} has its tokenizer in {name} alone, which is read with packages that are not installed here; {todo}"


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


def module_folders(folder: Path) -> list[Path]:
    """The folder of a model, and those of its modules.

    Args:
        folder: The folder of the model.

    Returns:
        That folder first; then those that ``modules.json`` names, and those that a router in there names.

    Raises:
        ModelError: A module is outside of the folder of the model, or the files cannot be read.
    """
    found = [folder]
    for module in listed_modules(folder) if (folder / MODULES).is_file() else []:
        here = folder / below(folder, module["path"])
        router = next((here / name for name in ("router_config.json", "config.json") if (here / name).is_file()), None)
        routes = read_object(router).get("types") if router else None
        found += [here, *(here / below(folder, name) for name in (routes if isinstance(routes, dict) else {}))]
    return list(dict.fromkeys(found))


def _weight_files(here: Path, system: ModelSettings, root: Path) -> list[Path]:
    """The files with the weights of one module: one, or those that an index or a graph names; none where it has no weights."""
    if found := weight_files(here, system.weights):
        return found
    return [path for path in [module_weights(here, system.weights)] if here != root and path.is_file()]


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
        raise ModelError(f"{index} names weights outside of its folder, or none at all; fetch or save the model again")
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


def model_files(system: ModelSettings) -> list[Path]:
    """The files that make a model what it is.

    Args:
        system: The system.

    Returns:
        Configuration, tokenizer and weights of a model that needs no hub, of every module; the source files of a class; nothing
        of a model on the hub, or of one that cannot be read.
    """
    if system.encoder:
        return [] if class_problem(system) else list(class_files(system).values())
    found: list[Path] = []
    for tower in towers(system):
        folder = local_folder(tower)
        if folder and folder.is_dir() and not _incomplete(folder, tower):
            found += _files(folder, tower)
    return found


def _files(folder: Path, system: ModelSettings) -> list[Path]:
    folders = module_folders(folder)
    read = {path for here in folders for pattern in PATTERNS for path in here.glob(pattern)}
    return sorted(read | {path for here in folders for path in _weight_files(here, system, root=folder)})


def model_card(system: EncoderSettings) -> Card:
    """How a model on this machine turns texts into vectors: what its files say, and what its settings say instead.

    Args:
        system: The system.

    Returns:
        The card; that of two models where queries have their own.

    Raises:
        ModelError: A model is not here, or its files are not understood, or leave open what the settings do not say.
    """
    try:
        card = with_settings(_card(system), system)
    except ModelError as error:
        raise ModelError(f"system {system.name}: {error}") from error
    _check_open(system, card)
    return card


def _card(system: ModelSettings) -> Card:
    """What the files of the models say."""
    cards = [read_card(model_folder(tower)) for tower in towers(system)]
    return cards[0] if len(cards) == 1 else joined(*cards)


def _check_open(system: ModelSettings, card: Card) -> None:
    if problem := card.problem():
        raise ModelError(f"system {system.name}, model {system.model}: {problem}")


def model_folder(system: ModelSettings, *, download: bool = False) -> Path:
    """The folder to load a model from.

    Args:
        system: The system; of one with two models, that of the documents.
        download: Whether a hub may be asked; if not, what an earlier download left is used.

    Returns:
        A folder that holds a model.

    Raises:
        ModelError: The model is not there or not complete.
    """
    system = towers(system)[0]
    local = local_folder(system)
    folder = local or _hub_folder(system, download)
    problem = model_problem(system) if local else _incomplete(folder, system)
    if problem:
        raise ModelError(f"system {system.name}, model {system.model}: {problem}")
    return folder


def _hub_folder(system: ModelSettings, download: bool) -> Path:
    from huggingface_hub import snapshot_download

    if system.revision is None:
        raise ModelError(f"system {system.name}, model {system.model}: {model_problem(system)}")
    fetch = partial(snapshot_download, system.model, revision=system.revision, local_files_only=not download)
    try:
        folder = Path(fetch(allow_patterns=[*PATTERNS, *_weight_patterns(system.weights)]))
        for weights in (system.weights, "model.safetensors", "pytorch_model.bin"):
            modules = [each for each in module_folders(folder)[1:] if not _weight_files(each, system, root=folder)]
            names = [each.relative_to(folder).as_posix() for each in modules]
            if patterns := [f"{name}/{pattern}" for name in names for pattern in _weight_patterns(weights)]:
                fetch(allow_patterns=patterns)
        absent = [path for path in _weight_files(folder, system, root=folder) if not path.is_file()]
        if absent:  # beside an ONNX graph, which names them
            fetch(allow_patterns=[path.relative_to(folder).as_posix() for path in absent])
    except ModelError:
        raise
    except Exception as error:  # the HTTP library below huggingface_hub differs between versions, and its exceptions with it
        todo = "check HF_ENDPOINT and the network, or put the model into a folder and name it under custom.systems"
        raise ModelError(
            f"system {system.name}: {system.model} at {system.revision} could not be fetched ({error}); {todo}"
        ) from error
    return folder


def _weight_patterns(weights: str) -> list[str]:
    """A file of weights, or its parts."""
    stem, suffix = weights.rsplit(".", 1)
    return [weights, f"{stem}-*-of-*.{suffix}"]


def check_model(system: ModelSettings, record_path: str) -> None:
    """Make sure that the models of a system are still those that were fetched.

    Args:
        system: The system.
        record_path: What ``fetch_model`` wrote about it.

    Raises:
        DataError: A file of a model is another now.
        ModelError: A model is not there any more.
    """
    found, recorded = model_digests(system), read_json(record_path)["files"]
    changed = sorted({name for name, _ in found.items() ^ recorded.items()})
    if changed:
        place = system.encoder or f"the model in {model_folder(system)}"
        raise damaged(record_path, f"{place} has another {', '.join(changed)} than is recorded here")


def fetch_model(*, system: ModelSettings, said: Sequence[str] | None, output_path: str, job: Job) -> None:
    """Make sure that the models of a system are on this machine, and record the digests of their files.

    Args:
        system: The system.
        said: Settings of an encoder that the configuration says; None for a family whose models have no card.
        output_path: The record to write: model, revision, sha256 of every file, and what the card says. It does not say where the
            files are, so that it is the same wherever the model comes from.
        job: The job, for the record.

    Raises:
        ModelError: A model cannot be fetched, is not complete or not understood, leaves open what nobody says, or its weights are
            not those of the catalogue.
    """
    for tower in [] if system.encoder else towers(system):
        logger.info("%s: %s from %s", system.name, tower.model, model_folder(tower, download=True))
    digests = model_digests(system)
    found = digests.get(system.weights)
    if system.weights_sha256 not in (None, found):
        raise ModelError(
            f"system {system.name}: {model_folder(system) / system.weights} has the sha256 {found}, expected"
            f" {system.weights_sha256}; these are other weights. Delete the file and run again, or use them under a name of your"
            " own in custom.systems"
        )
    facts: dict[str, Any] = {"model": system.model, "revision": system.revision, "files": digests}
    if system.query_model:
        facts |= {"query_model": system.query_model, "query_revision": system.query_revision}
    if system.encoder:
        facts |= {"model": None, "encoder": system.encoder, "arguments": system.arguments}
    elif said is not None:
        card = _card(system)
        _check_open(system, replace(card, open={key: reason for key, reason in card.open.items() if key not in said}))
        facts["card"] = card.as_json()
    write_record(output_path, job, inputs={}, outputs={}, **facts)


def model_digests(system: ModelSettings) -> dict[str, str]:
    """Digests of the files that make the models of a system what they are.

    Args:
        system: The system, whose models are on this machine.

    Returns:
        sha256 by name of the file below the folder of its model; those of the queries' own model begin with ``queries/``.

    Raises:
        ModelError: A model is not there or not complete.
    """
    if system.encoder:
        return {name: file_digest(path) for name, path in class_files(system).items()}
    found: dict[str, str] = {}
    for tower, prefix in zip(towers(system), ("", "queries/"), strict=False):
        folder = model_folder(tower)
        found |= {prefix + path.relative_to(folder).as_posix(): file_digest(path) for path in _files(folder, tower)}
    return found
