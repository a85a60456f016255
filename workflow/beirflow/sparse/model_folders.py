"""The folders of a sparse system's models: one for all texts, or another for queries; on a hub, in a folder or a package."""

import logging
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.files.digests import file_digest
from beirflow.files.errors import ModelError
from beirflow.files.records import Job, write_record
from beirflow.models.model_files import check_digests, check_weights
from beirflow.models.model_layout import PATTERNS
from beirflow.models.model_places import absent, fetching, local_folder, weight_patterns
from beirflow.models.settings import ModelSettings
from beirflow.runs.family import Setting
from beirflow.sparse.layouts import files_of, read_parts
from beirflow.sparse.parts import Parts
from beirflow.sparse.settings import SparseSettings

logger = logging.getLogger(__name__)

QUERY_MODEL = "query_model"
"""Before the names of the files of the queries' own model."""


class Folders(NamedTuple):
    """The folder of the model, and that of the queries' own model or None."""

    model: Path
    queries: Path | None


def model_problem(settings: SparseSettings) -> Setting | None:
    """Return why the models of a system cannot be used, as far as a look at the disk can tell; None if they can.

    Args:
        settings: The system.

    Returns:
        The key, its value and a sentence; None if nothing is wrong.
    """
    if settings.query_model is not None and (settings.queries == "tokens" or settings.head == "sparta"):
        return Setting(
            "query_model", settings.query_model, "the tokens of queries weigh 1, so no model reads them; remove the key"
        )
    own = settings.model_of_queries()
    for key, model in (("model", settings), *([("query_model", own)] if own else [])):
        folder = local_folder(model)
        if folder is None and not model.revision:
            named = "revision" if key == "model" else "query_revision"
            missing = f"there is no such folder, so this is a hub model, which needs {named!r}, the 40-digit commit that pins it"
            return Setting(key, model.model, missing)
        if folder is not None and not folder.is_dir():
            return Setting(key, model.model, absent(model.model, example="naver/splade-v3"))
    if folders := _local_folders(settings):
        try:
            read_parts(settings, *folders)
        except ModelError as error:
            return Setting("model", settings.model, str(error).removeprefix(f"system {settings.name}: "))
    return None


def _local_folders(settings: SparseSettings) -> Folders | None:
    """The folders, unless one of them is not here."""
    own = settings.model_of_queries()
    found = [local_folder(model) for model in (settings, own) if model is not None]
    if any(folder is None or not folder.is_dir() for folder in found):
        return None
    return Folders(*(found if own else [*found, None]))  # type: ignore[arg-type]  # none of them is None


def local_files(settings: SparseSettings) -> list[Path]:
    """The files that make the models of a system what they are; an empty list where one is on the hub or not complete."""
    folders = _local_folders(settings)
    if folders is None:
        return []
    try:
        parts = read_parts(settings, *folders)
    except ModelError:
        return []  # which model_problem says
    return [path for folder in folders if folder for path in files_of(folder, parts)]


def model_folders(settings: SparseSettings, *, download: bool = False) -> Folders:
    """The folders to load the models of a system from.

    Args:
        settings: The system.
        download: Whether a hub may be asked; if not, what an earlier download left is used.

    Returns:
        Folders that hold models.

    Raises:
        ModelError: A model is not there.
    """
    if problem := model_problem(settings):
        raise ModelError(f"system {settings.name}, {problem.key} {problem.value}: {problem.problem}")
    own = settings.model_of_queries()
    return Folders(_folder(settings, download), _folder(own, download) if own else None)


def _folder(model: ModelSettings, download: bool) -> Path:
    return local_folder(model) or _hub_folder(model, download)


def _hub_folder(model: ModelSettings, download: bool) -> Path:
    from huggingface_hub import snapshot_download

    names = weight_patterns(model.weights)
    patterns = [*PATTERNS, *names, *(f"*/{name}" for name in names)]  # each module of a SparseEncoder has a folder
    how: dict[str, Any] = {"revision": model.revision, "allow_patterns": patterns, "local_files_only": not download}
    with fetching(model):
        return Path(snapshot_download(model.model, **how))


def model_digests(folders: Folders, parts: Parts) -> dict[str, str]:
    """sha256 of the files that make the models what they are, by name; of the queries' own model below ``query_model/``."""
    digests = {}
    for folder, before in zip(folders, ("", f"{QUERY_MODEL}/"), strict=True):
        for path in files_of(folder, parts) if folder else []:
            digests[f"{before}{path.relative_to(folder).as_posix()}"] = file_digest(path)  # type: ignore[arg-type]
    return digests


def digests_of(settings: SparseSettings) -> dict[str, str]:
    """The digests of a system's models, wherever they are on this machine.

    Args:
        settings: The system.

    Returns:
        sha256 by name of the file.

    Raises:
        ModelError: A model is not here or not complete.
    """
    folders = model_folders(settings)
    return model_digests(folders, read_parts(settings, *folders))


def check_models(folders: Folders, parts: Parts, record_path: str) -> None:
    """Make sure that the models are still those that were fetched.

    Args:
        folders: Where they are.
        parts: How their texts are weighed.
        record_path: What ``fetch_sparse_model`` wrote about them.

    Raises:
        DataError: A file is another now.
    """
    check_digests(model_digests(folders, parts), record_path, f"the model in {folders.model}")


def fetch_sparse_model(*, settings: SparseSettings, output_path: str, job: Job) -> None:
    """Make sure that the models of a system are on this machine, and record the digests of their files.

    Args:
        settings: The system.
        output_path: The record to write: models, revisions and sha256 of every file.
        job: The job, for the record.

    Raises:
        ModelError: A model cannot be fetched, is not complete, or its weights are not those of the catalogue.
    """
    folders = model_folders(settings, download=True)
    digests = model_digests(folders, read_parts(settings, *folders))
    check_weights(settings, folders.model, digests)
    write_record(
        output_path,
        job,
        inputs={},
        outputs={},
        model=settings.model,
        revision=settings.revision,
        query_model=settings.query_model,
        query_revision=settings.query_revision,
        files=digests,
    )
    logger.info("%s: %s from %s", settings.name, settings.model, folders.model)
