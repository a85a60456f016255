"""Collections of datasets newer than BEIR, from ``collections.yaml``; their members are datasets, ``<collection>.<member>``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.catalogue.dataset import Dataset
from beirflow.catalogue.schema import read_catalogue
from beirflow.sources.forms import HubForm

OF_A_FORM = ("hub", "revision", "subset", "layout")
OF_A_DATASET = ("split", "documents", "queries", "licence", "drop_self_matches", "relevant_from", "excluded_pairs")
"""Keys of a member, of its collection, or of a forum, from the most general to the most particular."""


@dataclass(frozen=True)
class Collection:
    """Datasets that belong together.

    Attributes:
        members: Names of its datasets.
        main_measure: Measure by which its authors compare systems.
        citation: Its entry of ``citations.bib``.
    """

    members: tuple[str, ...]
    main_measure: str
    citation: str


@dataclass(frozen=True)
class Collections:
    """The content of ``collections.yaml``.

    Attributes:
        collections: By name.
        members: By name of a member, its corpora: one, or one a forum.
        facts: By name of a member, all its keys.
        refused: By name of a collection that is not read, the reason.
    """

    collections: Mapping[str, Collection] = field(default_factory=dict)
    members: Mapping[str, tuple[Dataset, ...]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


def load_collections(folder: Path, beir: Mapping[str, Mapping[str, Any]]) -> Collections:
    """Read and check ``collections.yaml``; versions of a dataset of BEIR have the task and domain of its entry in ``beir``.

    Raises ConfigError if the file does not follow its schema.
    """
    if not (folder / "collections.yaml").is_file():
        return Collections()
    content = read_catalogue(folder / "collections.yaml", "collections")
    collections: dict[str, Collection] = {}
    members: dict[str, tuple[Dataset, ...]] = {}
    facts: dict[str, dict[str, Any]] = {}
    for name, entry in content["collections"].items():
        shared = {key: value for key, value in entry.items() if key != "members"}
        for member, own in entry["members"].items():
            row = f"{name}.{member}"
            of_beir = {key: beir[member][key] for key in ("task", "domain")} if entry.get("of_beir") else {}
            facts[row] = {**of_beir, **shared, **own}
            members[row] = _corpora(row, name, facts[row])
        rows = tuple(f"{name}.{member}" for member in entry["members"])
        collections[name] = Collection(rows, entry["main_measure"], entry.get("citation", name))
    return Collections(collections, members, facts, content["refused"])


def _corpora(row: str, collection: str, facts: Mapping[str, Any]) -> tuple[Dataset, ...]:
    """Return the corpora of a member."""
    if "forums" not in facts:
        return (_corpus(row, facts, name=row, collection=collection),)
    return tuple(
        _corpus(row, {**facts, **own}, name=f"{row}-{forum}", forum=forum, collection=collection)
        for forum, own in facts["forums"].items()
    )


def _corpus(row: str, facts: Mapping[str, Any], **names: Any) -> Dataset:
    form = HubForm(**{key: facts[key] for key in OF_A_FORM if key in facts})
    return Dataset(row=row, form=form, **names, **{key: facts[key] for key in OF_A_DATASET if key in facts})
