"""Where a model's files are: on a hub at a pinned revision, in a folder, or in a Python package."""

import importlib.util
import logging
import re
from pathlib import Path

from beirflow.files.digests import file_digest
from beirflow.files.errors import ModelError
from beirflow.files.records import Job, read_json, write_record
from beirflow.files.verified import damaged
from beirflow.models.settings import ModelSettings

logger = logging.getLogger(__name__)

PACKAGE = "package:"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
PATTERNS = ("*.json", "*.txt", "*.model")


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


def _incomplete(folder: Path, system: ModelSettings) -> str | None:
    """What a folder lacks to be a model."""
    if not (folder / "config.json").is_file():
        return f"{folder} has no config.json, so it is not a model folder"
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        return f"{folder} has no tokenizer; one of {', '.join(TOKENIZER_FILES)} was expected, as tokenizer.save_pretrained writes"
    if not _weight_files(folder, system):
        return f"{folder} has no {system.weights}; save the model as safetensors, or name its file in 'weights'"
    return None


def _weight_files(folder: Path, system: ModelSettings) -> list[Path]:
    """The file with the weights, or its parts where an index names several."""
    stem, suffix = system.weights.rsplit(".", 1)
    whole = folder / system.weights
    return [whole] if whole.is_file() else sorted(folder.glob(f"{stem}-*-of-*.{suffix}"))


def model_files(system: ModelSettings) -> list[Path]:
    """The files that make a model what it is.

    Args:
        system: The system.

    Returns:
        Configuration, tokenizer and weights of a model that needs no hub; an empty list for one on the hub.
    """
    folder = local_folder(system)
    return _files(folder, system) if folder and folder.is_dir() else []


def _files(folder: Path, system: ModelSettings) -> list[Path]:
    return sorted({path for pattern in PATTERNS for path in folder.glob(pattern)} | set(_weight_files(folder, system)))


def model_folder(system: ModelSettings, *, download: bool = False) -> Path:
    """The folder to load a model from.

    Args:
        system: The system.
        download: Whether a hub may be asked; if not, what an earlier download left is used.

    Returns:
        A folder that holds a model.

    Raises:
        ModelError: The model is not there or not complete.
    """
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
    stem, suffix = system.weights.rsplit(".", 1)
    patterns = [*PATTERNS, system.weights, f"{stem}-*-of-*.{suffix}"]
    try:
        folder = Path(
            snapshot_download(system.model, revision=system.revision, allow_patterns=patterns, local_files_only=not download)
        )
    except Exception as error:  # the HTTP library below huggingface_hub differs between versions, and its exceptions with it
        todo = "check HF_ENDPOINT and the network, or put the model into a folder and name it under custom.systems"
        raise ModelError(
            f"system {system.name}: {system.model} at {system.revision} could not be fetched ({error}); {todo}"
        ) from error
    return folder


def check_model(system: ModelSettings, folder: Path, record_path: str) -> None:
    """Make sure that a model is still the one that was fetched.

    Args:
        system: The system.
        folder: Where the model is.
        record_path: What ``fetch_model`` wrote about it.

    Raises:
        DataError: A file of the model is another now.
    """
    found, recorded = model_digests(folder, system), read_json(record_path)["files"]
    changed = sorted({name for name, _ in found.items() ^ recorded.items()})
    if changed:
        raise damaged(record_path, f"the model in {folder} has another {', '.join(changed)} than is recorded here")


def fetch_model(*, system: ModelSettings, output_path: str, job: Job) -> None:
    """Make sure that a model is on this machine, and record the digests of its files.

    Args:
        system: The system.
        output_path: The record to write: model, revision and sha256 of every file. It does not say where the files are, so that
            it is the same wherever the model comes from.
        job: The job, for the record.

    Raises:
        ModelError: The model cannot be fetched, is not complete, or its weights are not those of the catalogue.
    """
    folder = model_folder(system, download=True)
    digests = model_digests(folder, system)
    found = digests.get(system.weights)
    if system.weights_sha256 not in (None, found):
        raise ModelError(
            f"system {system.name}: {folder / system.weights} has the sha256 {found}, expected {system.weights_sha256};"
            " these are other weights. Delete the file and run again, or use them under a name of your own in custom.systems"
        )
    write_record(output_path, job, inputs={}, outputs={}, model=system.model, revision=system.revision, files=digests)
    logger.info("%s: %s from %s", system.name, system.model, folder)


def model_digests(folder: Path, system: ModelSettings) -> dict[str, str]:
    """Digests of the files that make a model what it is.

    Args:
        folder: Folder of the model.
        system: The system.

    Returns:
        sha256 by name of the file.
    """
    return {path.name: file_digest(path) for path in _files(folder, system)}
