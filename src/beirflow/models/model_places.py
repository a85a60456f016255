"""The location of a model: on a hub at a pinned revision, in a folder, or in a Python package."""

import importlib.util
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from beirflow.core.addresses import keep_secrets_of_hub, without_credentials
from beirflow.core.errors import ModelError
from beirflow.core.extensions import encoders
from beirflow.models.model_layout import PATTERNS, UNREAD, incomplete, module_folders, module_weight_files
from beirflow.models.own_class import class_problem
from beirflow.models.settings import ModelSettings
from beirflow.run.by_name import by_name

Settings = TypeVar("Settings", bound=ModelSettings)

PACKAGE = "package:"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def local_folder(system: ModelSettings) -> Path | None:
    """Return the folder of a model that needs no hub; it may not exist.

    None for a model on the hub, unless an installed package ships the same weights.
    """
    if system.offline and (folder := _package_folder(system.offline)):
        return folder
    if system.model.startswith(PACKAGE):
        return _package_folder(system.model) or Path(system.model)
    path = Path(system.model).expanduser()
    return path if path.is_dir() or not HUB_ID.fullmatch(system.model) else None


def is_local(system: ModelSettings) -> bool:
    """Test whether all models of a system need no hub."""
    return all(local_folder(tower) is not None for tower in towers(system))


def _package_folder(location: str) -> Path | None:
    """Return a folder in a package without importing the package; None if the package is not installed."""
    package, _, folder = location.removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(package) if "." not in package else None
    return Path(spec.submodule_search_locations[0], folder) if spec and spec.submodule_search_locations else None


def towers(system: Settings) -> list[Settings]:
    """Return the models of a system, each as a system: that of the documents, then that of the queries if they have another.

    A class of the user's own has none.
    """
    if system.encoder and not system.model:
        return []
    documents = replace(system, query_model=None, query_revision=None)
    if system.query_model is None:
        return [documents]
    weights = getattr(system, "query_weights", system.weights)
    queries = replace(documents, model=system.query_model, revision=system.query_revision, weights=weights)
    return [documents, replace(queries, offline=None, weights_sha256=None)]


def model_problem(system: ModelSettings) -> str | None:
    """Return, in a sentence with its remedy, why a system's models cannot be used, judging by the disk; None if they can."""
    if system.encoder and (problem := class_problem(system)):
        return problem
    problems = (_problem(tower, key) for tower, key in zip(towers(system), ("revision", "query_revision"), strict=False))
    return next(filter(None, problems), None)


def problem_with(system: ModelSettings, read: Callable[[], object]) -> str | None:
    """Return why a system's models cannot be used, judging by the disk, or their files are not understood by ``read``.

    The class of a library checks the models that it computes.
    """
    problem = model_problem(system)
    if problem is None and is_local(system):
        try:
            if not system.encoder:
                read()
            elif system.model:
                by_name(encoders()[system.encoder][system.family]).check(model_folder(system), system)
        except ModelError as error:
            return str(error)
    return problem


@contextmanager
def or_by_others(system: ModelSettings) -> Iterator[None]:
    """Add to a ModelError of the block the keys with which the libraries of extensions compute the model, if they can."""
    try:
        yield
    except ModelError as error:
        others = [by_name(classes[system.family]).instead_of(system) for classes in encoders().values()]
        raise ModelError(". Or ".join(filter(None, [str(error), *others]))) from error


def next_to_record(system: Settings, record_path: str | Path) -> Settings:
    """Set the place of a model that was made here, which is the folder next to its record; keep any other system."""
    return system if system.source else replace(system, model=str(Path(record_path).with_suffix("")))


def _problem(system: ModelSettings, key: str) -> str | None:
    """Return why one model, whose revision is the setting ``key``, cannot be used; None if it can."""
    folder = local_folder(system)
    if folder is None:
        return None if system.revision else unpinned(system.model, key)
    if not folder.is_dir():
        return absent(system.model, example="facebook/contriever")
    return incomplete(folder, system)


def unpinned(model: str, key: str = "revision") -> str:
    """Return why a model that is in no folder cannot be used without a revision, and the remedy."""
    needed = f"there is no such folder, so this is a hub model, which needs {key!r}, the 40-digit commit that pins it"
    return f"{needed}; git ls-remote https://huggingface.co/{model} HEAD prints it"


def absent(model: str, example: str) -> str:
    """Return why no folder exists where a model should be, and the remedy; ``example`` is a hub id of the family."""
    if model.startswith(PACKAGE):
        package = model.removeprefix(PACKAGE).partition("/")[0]
        return f"the Python package {package!r} with this folder is not installed; install it, or name a folder or a hub id"
    return f"nothing is there; expected a folder, a hub id such as {example!r}, or package:<import name>/<folder>"


def model_folder(system: ModelSettings, *, download: bool = False) -> Path:
    """Return the folder to load a model from; of a system with two models, that of the documents.

    A hub is asked only with ``download``, else an earlier download is used. Raises ModelError for a missing or incomplete model.
    """
    system = towers(system)[0]
    folder, problem = local_folder(system), model_problem(system)
    if folder is None and problem is None:
        folder = hub_folder(system, download)
        problem = incomplete(folder, system)
    if folder is None or problem:
        raise ModelError(f"system {system.name}, model {system.model}: {problem}")
    return folder


def hub_folder(system: ModelSettings, download: bool) -> Path:
    """Return the folder of a model from a hub, which is asked only to ``download``; ModelError if it cannot be fetched."""
    from huggingface_hub import snapshot_download

    fetch = partial(snapshot_download, system.model, revision=system.revision, local_files_only=not download)
    with fetching(system):
        if system.encoder:
            return Path(fetch(ignore_patterns=[*UNREAD]))
        folder = Path(fetch(allow_patterns=[*PATTERNS, *weight_patterns(system.weights)]))
        # Modules may have their weights under another name than the backbone, which only the fetched modules.json tells.
        for weights in (system.weights, "model.safetensors", "pytorch_model.bin"):
            modules = [each for each in module_folders(folder)[1:] if not module_weight_files(each, system.weights, folder)]
            names = [each.relative_to(folder).as_posix() for each in modules]
            if patterns := [f"{name}/{pattern}" for name in names for pattern in weight_patterns(weights)]:
                fetch(allow_patterns=patterns)
        missing = [path for path in module_weight_files(folder, system.weights, folder) if not path.is_file()]
        if missing:  # of an ONNX graph, which names them
            fetch(allow_patterns=[path.relative_to(folder).as_posix() for path in missing])
    return folder


@contextmanager
def fetching(system: ModelSettings) -> Iterator[None]:
    """Convert errors of a download, except ModelError, to a ModelError with the remedy."""
    keep_secrets_of_hub()
    logging.getLogger("huggingface_hub.utils._http").setLevel(logging.ERROR)  # two lines for each attempt; the error tells enough
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # the HTTP library below huggingface_hub differs between versions, and its exceptions with it
        todo = "check HF_ENDPOINT, the network and, for a model that is not public, HF_TOKEN; or name a folder with the model"
        reason = without_credentials(str(error)).removeprefix("Got: ").partition("\n")[0]
        raise ModelError(
            f"system {system.name}: {system.model} at {system.revision} could not be fetched ({reason}); {todo}"
        ) from error


def weight_patterns(weights: str) -> list[str]:
    """Return the patterns of a file of weights and of its parts."""
    stem, suffix = weights.rsplit(".", 1)
    return [weights, f"{stem}-*-of-*.{suffix}"]
