"""The user's own datasets: the valid and invalid entries of ``custom.datasets``."""

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from beirflow.core.patterns import NAME
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.schema import Problems
from beirflow.data.sources.archives import is_archive
from beirflow.data.sources.forms import Form, HubForm, LabelledForm, SamplesForm

FILES: Mapping[str, type[LabelledForm | SamplesForm]] = {LabelledForm.kind: LabelledForm, SamplesForm.kind: SamplesForm}
"""Forms of a file whose lines are queries with documents."""

LISTS = "query_lists"
OF_A_FILE = ("fields", "labels", LISTS)
OF_A_FOLDER = ("split", "forums")
NOT_ON_A_HUB = ("path", "form", "forums")  # keys that not every form has
NO_FIELDS = ("kind", "labels", LISTS)  # keys of a form besides names of fields


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
        with suppress(OSError, RuntimeError):  # said of data_dir
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
    with suppress(OSError, RuntimeError):  # said of data_dir
        inside = sorted(Path(data_dir).expanduser().iterdir()) if data_dir else []
        return [path.stem if is_archive(path) else path.name for path in inside if is_archive(path) or path.is_dir()]
    return []


def custom_dataset(name: str, entry: Mapping[str, Any]) -> tuple[Dataset, ...]:
    """Return the corpora, one or one a forum, of a checked entry of ``custom.datasets``."""
    common = {key: entry[key] for key in ("path", "split", "drop_self_matches", "shares_texts_with") if key in entry}
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
    more: dict[str, Any] = {"labels": tuple(entry["labels"].items())} if "labels" in entry and kind is LabelledForm else {}
    more |= {LISTS: entry[LISTS]} if LISTS in entry and kind is SamplesForm else {}
    return kind(**{name: value for name, value in entry.get("fields", {}).items() if name in _fields_of(kind)}, **more)


def _fields_of(kind: type[LabelledForm | SamplesForm]) -> list[str]:
    """Return the keys of ``fields`` that a form has."""
    return [field.name for field in fields(kind) if field.name not in NO_FIELDS]


def check_own_datasets(entries: Mapping[str, Mapping[str, Any]], problems: Problems) -> None:
    """Note keys of checked entries that a dataset of its form does not have."""
    for name, entry in entries.items():
        for key, problem in _wrong_keys(entry):
            problems.add(f"custom.datasets.{name}.{key}", entry[key], problem)


def _wrong_keys(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield keys that are not used, and why."""
    if "hub" in entry:
        yield from ((key, "a dataset on a hub does not have this; remove the key") for key in NOT_ON_A_HUB if key in entry)
    kind = FILES.get(entry.get("form", ""))
    if kind is None:
        reason = f"only a file of queries with documents has this; write 'form: {LabelledForm.kind}' if this is one"
        yield from ((key, reason) for key in OF_A_FILE if key in entry)
        return
    reason = "a file of queries with documents has one set of judgements and one corpus; remove the key"
    yield from ((key, reason) for key in OF_A_FOLDER if key in entry)
    if kind is not SamplesForm and LISTS in entry:
        yield LISTS, f"only 'form: {SamplesForm.kind}' has queries that are lists; remove the key"
    if kind is not LabelledForm and "labels" in entry:
        yield "labels", f"only 'form: {LabelledForm.kind}' has labels; remove the key"
    known = _fields_of(kind)
    if any(name not in known for name in entry.get("fields", {})):
        yield "fields", f"fields of 'form: {entry['form']}' are {', '.join(known)}"
