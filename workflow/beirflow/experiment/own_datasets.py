"""Datasets of the user's own: what ``custom.datasets`` says of them, and what it must not."""

from collections.abc import Iterator, Mapping
from typing import Any

from beirflow.datasets.hub_layout import HubForm
from beirflow.datasets.labelled import LabelledForm
from beirflow.datasets.opening import Form
from beirflow.experiment.catalogue import Dataset
from beirflow.experiment.schema import Problems

LABELLED = "labelled"
"""The form of a file in which a line is a query with its labelled documents."""

OF_A_LABELLED_FILE = ("fields", "labels")
OF_A_FOLDER = ("split", "forums")
NOT_ON_A_HUB = ("path", "form", "forums")
"""Keys that not every form has."""


def custom_dataset(name: str, entry: Mapping[str, Any]) -> tuple[Dataset, ...]:
    """The corpora of a dataset of the user's own, from ``custom.datasets.<name>`` of the configuration.

    Args:
        name: Its name.
        entry: Its entry, which its schema has checked.

    Returns:
        One corpus, or one a forum.
    """
    common = {key: entry[key] for key in ("path", "split", "drop_self_matches", "shares_texts_with") if key in entry}
    common["form"] = _form(entry)
    forums = entry.get("forums")
    if forums is None:
        return (Dataset(name=name, row=name, documents=entry.get("documents"), **common),)
    return tuple(Dataset(name=f"{name}-{forum}", row=name, forum=forum, **common) for forum in forums)


def _form(entry: Mapping[str, Any]) -> Form | None:
    """The form of a dataset; None for that of BEIR."""
    if "hub" in entry:
        place = {key: entry[key] for key in ("hub", "revision", "subset") if key in entry}
        return HubForm(**place, **{f"qrels_{key}": value for key, value in entry.get("qrels", {}).items()})
    if entry.get("form") == LABELLED:
        return LabelledForm(**entry.get("fields", {}), labels=tuple(entry.get("labels", {}).items()))
    return None


def check_own_datasets(entries: Mapping[str, Mapping[str, Any]], problems: Problems) -> None:
    """Note keys that a dataset of its form does not have.

    Args:
        entries: By name, entries that their schema has checked.
        problems: Where what is wrong is added.
    """
    for name, entry in entries.items():
        for key, problem in _wrong_keys(entry):
            problems.add(f"custom.datasets.{name}.{key}", entry[key], problem)


def _wrong_keys(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys that are not used, and why."""
    if "hub" in entry:
        yield from ((key, "a dataset on a hub does not have this; remove the key") for key in NOT_ON_A_HUB if key in entry)
    if entry.get("form") == LABELLED:
        reason = "a file of labelled documents has one set of judgements and one corpus; remove the key"
        yield from ((key, reason) for key in OF_A_FOLDER if key in entry)
    else:
        reason = f"only a file of labelled documents has this; write 'form: {LABELLED}' if this is one"
        yield from ((key, reason) for key in OF_A_LABELLED_FILE if key in entry)
