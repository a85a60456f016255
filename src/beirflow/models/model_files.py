"""The identity of a model: the digests of its files and its card; recorded, and compared with the record."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beirflow.core.digests import file_digest
from beirflow.core.errors import ModelError, model_errors_of
from beirflow.core.records import Job, read_json, write_record
from beirflow.core.verified import damaged
from beirflow.models.card import INSTRUCTORS, Card, check_open, joined, with_settings
from beirflow.models.card_files import read_card
from beirflow.models.model_layout import files_that_count, incomplete
from beirflow.models.model_places import local_folder, model_folder, or_by_others, towers
from beirflow.models.own_class import class_files, class_problem
from beirflow.models.settings import EncoderSettings, ModelSettings

logger = logging.getLogger(__name__)


def model_files(system: ModelSettings) -> list[Path]:
    """Return the files that define a model: configuration, tokenizer and weights of every module, or the source files of a class.

    Empty for a model on the hub, and for one that cannot be read.
    """
    if system.encoder and class_problem(system):
        return []
    paths = list(class_files(system).values()) if system.encoder else []
    for tower in towers(system):
        folder = local_folder(tower)
        if folder and folder.is_dir() and not incomplete(folder, tower):
            paths += files_that_count(folder, tower)
    return paths


def model_card(system: EncoderSettings, similarity: str | None = None) -> Card:
    """Read the recipe of a model on this machine: the statements of its files, overridden by its settings.

    With a query model it is the card of both. Raises ModelError for a model that is not here or not understood, or whose files
    leave open what the settings do not state.
    """
    card = card_in_files(system)
    with model_errors_of(f"system {system.name}, model {system.model}"):
        card = with_settings(card, system, similarity)
        check_open(card.open)
    return card


def card_in_files(system: ModelSettings) -> Card:
    """Read the recipe in the files of a model on this machine; with a query model, that of both."""
    folders = [model_folder(tower) for tower in towers(system)]
    with model_errors_of(f"system {system.name}"), or_by_others(system):
        if system.model in INSTRUCTORS:
            raise ModelError(f"{system.model} leaves the tokens of the prompt out of its pooling, which is not done here")
        cards = [read_card(folder) for folder in folders]
        return cards[0] if len(cards) == 1 else joined(*cards)


def check_model(system: ModelSettings, record_path: str) -> None:
    """Check that the models of a system are those in the record of ``fetch_model``.

    Raises DataError for a changed file, also one that cannot be read any more, ModelError for a missing model.
    """
    recorded = read_json(record_path).get("files", {})
    try:
        digests = model_digests(system)
    except ModelError:
        # A damaged file may keep the model from being read; of one folder, the recorded files can be compared all the same.
        folder = None if system.encoder or system.query_model else local_folder(system)
        digests = {name: file_digest(path) for name in recorded if folder and (path := folder / name).is_file()}
        if not digests or digests == recorded:
            raise
    if changed := sorted({name for name, _ in digests.items() ^ recorded.items()}):
        place = f"the model in {local_folder(system) or model_folder(system)}" if system.model else system.encoder
        raise damaged(record_path, f"{place} has another {', '.join(changed)} than recorded here")


def fetch_model(*, system: ModelSettings, configured: Sequence[str] | None, output_path: str, job: Job) -> None:
    """Fetch the models of a system where necessary, and record their digests and card.

    The record does not say where the files are, so it is the same wherever the model comes from. ``configured`` names the
    encoder settings of the configuration; None for a family whose models have no card. Raises ModelError for a model that cannot
    be fetched, is incomplete or not understood, leaves a setting open, or has other weights than the catalogue.
    """
    for tower in towers(system):
        logger.info("%s: %s from %s", system.name, tower.model, model_folder(tower, download=True))
    # Once all are fetched: of what is on this disk, and not of what a hub says that it sent.
    digests = model_digests(system)
    if system.weights_sha256 not in (None, digest := digests.get(system.weights)):
        raise ModelError(
            f"system {system.name}: {model_folder(system) / system.weights} has the sha256 {digest}, expected"
            f" {system.weights_sha256}; these are other weights. Delete the file and run again, or use them under a name of your"
            " own in custom.systems"
        )
    facts: dict[str, Any] = {"model": system.model or None, "revision": system.revision, "files": digests}
    if system.query_model:
        facts |= {"query_model": system.query_model, "query_revision": system.query_revision}
    if system.encoder:
        facts |= {"encoder": system.encoder, "arguments": system.arguments}
    elif configured is not None:
        card = card_in_files(system)
        with model_errors_of(f"system {system.name}, model {system.model}"):
            check_open({key: reason for key, reason in card.open.items() if key not in configured})
        facts["card"] = card.as_json()
    write_record(output_path, job, inputs={}, outputs={}, **facts)


def model_digests(system: ModelSettings) -> dict[str, str]:
    """Return the sha256 of every file of a system's models, by name below their folder.

    Names in the queries' own model begin with ``queries/``. Raises ModelError for a missing or incomplete model.
    """
    own = class_files(system) if system.encoder else {}
    digests = {name: file_digest(path) for name, path in own.items()}
    for tower, prefix in zip(towers(system), ("", "queries/"), strict=False):
        folder = model_folder(tower)
        digests |= {prefix + path.relative_to(folder).as_posix(): file_digest(path) for path in files_that_count(folder, tower)}
    return digests
