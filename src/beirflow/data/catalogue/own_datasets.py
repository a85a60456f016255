"""The user's own datasets: the entries of ``custom.datasets``."""

import re
from collections.abc import Container, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from beirflow.core.patterns import NAME
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.sources.archives import is_archive
from beirflow.data.sources.forms import Form, HubForm, LabelledForm, SamplesForm

FILES: Mapping[str, type[LabelledForm | SamplesForm]] = {LabelledForm.kind: LabelledForm, SamplesForm.kind: SamplesForm}
"""Forms of a file whose lines are queries with documents."""

LISTS = "query_lists"

STATED = ("path", "split", "drop_self_matches", "relevant_from", "shares_texts_with")  # keys that say what a corpus is


def folders_of(data_dir: Any, names: Any, known: Container[str]) -> dict[str, Any]:
    """Return an entry of ``custom.datasets`` for each folder or archive of ``data_dir`` that is named and not known.

    A name may be followed by a split and by samples, as in ``mine.dev.sample-50``.
    """
    listed = [names] if isinstance(names, str) else names if isinstance(names, list) else []
    if not isinstance(data_dir, str):
        return {}
    parts = [name.split(".") for name in listed if isinstance(name, str) and re.fullmatch(NAME, name)]
    entries = {}
    for name in (".".join(part[:length]) for part in parts for length in range(1, len(part) + 1)):
        with suppress(OSError, RuntimeError):  # reported of data_dir
            if name not in known and (place := place_in(data_dir, name)):
                entries[name] = {"path": place}
    return entries


def place_in(data_dir: str, name: str) -> str | None:
    """Return the folder of a dataset in ``data_dir``, or else its archive; None without either."""
    folder = Path(data_dir).expanduser() / name
    archive = folder.with_name(f"{name}.zip")
    return str(folder) if folder.is_dir() else str(archive) if archive.is_file() else None


def names_in(data_dir: str | None) -> list[str]:
    """Return the names of the folders and archives in ``data_dir``."""
    with suppress(OSError, RuntimeError):  # reported of data_dir
        inside = sorted(Path(data_dir).expanduser().iterdir()) if data_dir else []
        return [path.stem if is_archive(path) else path.name for path in inside if is_archive(path) or path.is_dir()]
    return []


def custom_dataset(name: str, entry: Mapping[str, Any]) -> tuple[Dataset, ...]:
    """Return the corpora, one or one a forum, of a checked entry of ``custom.datasets``."""
    common = {key: entry[key] for key in STATED if key in entry}
    common["form"] = _form(entry)
    forums = entry.get("forums")
    if forums is None:
        return (Dataset(name=name, row=name, documents=entry.get("documents"), **common),)
    return tuple(Dataset(name=f"{name}-{forum}", row=name, forum=forum, **common) for forum in forums)


def _form(entry: Mapping[str, Any]) -> Form | None:
    """Return the form of a dataset; None for that of BEIR."""
    if "hub" in entry:
        return HubForm.of(entry)
    kind = FILES.get(entry.get("form", ""))
    if kind is None:
        return None
    more: dict[str, Any] = {"labels": tuple(entry["labels"].items())} if "labels" in entry else {}
    more |= {LISTS: entry[LISTS]} if LISTS in entry else {}
    return kind(**entry.get("fields", {}), **more)
