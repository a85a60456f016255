"""The folders of a sparse system's models: one for all texts, or another for queries; on a hub, in a folder or a package."""

import logging
from pathlib import Path
from typing import NamedTuple

from beirflow.core.digests import file_digest
from beirflow.core.errors import ModelError
from beirflow.core.records import Job, write_record
from beirflow.families.sparse.layouts import Parts, files_of, read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.system import Setting
from beirflow.models.model_files import check_digests, check_weights
from beirflow.models.model_places import absent, hub_folder, local_folder, unpinned
from beirflow.models.position_table import length_problem

logger = logging.getLogger(__name__)

QUERY_MODEL = "query_model"  # folder, in names of files, of the queries' own model


class Folders(NamedTuple):
    """The folder of the model, and that of the queries' own model or None."""

    model: Path
    queries: Path | None = None


def model_problem(settings: SparseSettings) -> Setting | None:
    """Return why the models of a system cannot be used, judged by the disk alone; None if they can."""
    if settings.query_model is not None and (settings.queries == "tokens" or settings.head == "sparta"):
        todo = "the tokens of queries weigh 1, so no model reads them; remove the key"
        return Setting("query_model", settings.query_model, todo)
    for key, model in zip(("model", "query_model"), settings.models, strict=False):
        folder = local_folder(model)
        if folder is None and not model.revision:
            return Setting(key, model.model, unpinned(model.model, "revision" if key == "model" else "query_revision"))
        if folder is not None and not folder.is_dir():
            return Setting(key, model.model, absent(model.model, example="naver/splade-v3"))
    if folders := _local_folders(settings):
        try:
            parts = read_parts(settings, *folders)
            for folder in filter(None, folders):
                files_of(folder, parts)
        except ModelError as error:
            return Setting("model", settings.model, str(error).removeprefix(f"system {settings.name}: "))
    if too_long := length_problem(settings, settings.max_length):
        return Setting("max_length", settings.max_length, too_long)
    return None


def _local_folders(settings: SparseSettings) -> Folders | None:
    """Return the folders, unless one of them is not on this machine."""
    here = [folder for model in settings.models if (folder := local_folder(model)) and folder.is_dir()]
    return Folders(*here) if len(here) == len(settings.models) else None


def local_files(settings: SparseSettings) -> list[Path]:
    """List the files that define the models of a system; none where one is on the hub or not complete."""
    folders = _local_folders(settings)
    if folders is None:
        return []
    try:
        parts = read_parts(settings, *folders)
        return [path for folder in folders if folder for path in files_of(folder, parts)]
    except ModelError:
        return []  # which model_problem says


def model_folders(settings: SparseSettings, *, download: bool = False) -> Folders:
    """Return the folders of a system's models, downloaded only on request.

    Raises ModelError if a model is not available.
    """
    if problem := model_problem(settings):  # a folder may have gone since the configuration was checked
        raise ModelError(f"system {settings.name}, {problem.key} {problem.value}: {problem.problem}")
    return Folders(*(local_folder(model) or hub_folder(model, download) for model in settings.models))


def model_digests(folders: Folders, parts: Parts) -> dict[str, str]:
    """Return the sha256 of each file of the models; the queries' own model is below ``query_model/``."""
    return {
        f"{before}{path.relative_to(folder).as_posix()}": file_digest(path)
        for folder, before in zip(folders, ("", f"{QUERY_MODEL}/"), strict=True)
        if folder
        for path in files_of(folder, parts)
    }


def check_models(folders: Folders, parts: Parts, record_path: str) -> None:
    """Compare the models with the record of ``fetch_sparse_model``.

    Raises DataError if a file was replaced.
    """
    check_digests(model_digests(folders, parts), record_path, f"the model in {folders.model}")


def fetch_sparse_model(*, settings: SparseSettings, output_path: str, job: Job) -> None:
    """Fetch the models of a system, if they are not on this machine, and record revisions and sha256 of every file.

    Raises ModelError if a model cannot be fetched, is not complete, or its weights are not those of the catalogue.
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
