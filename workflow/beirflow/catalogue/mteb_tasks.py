"""The tasks of MTEB that have the queries of datasets in the catalogue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MtebTask:
    """A task of MTEB: its name, what model cards call its data, and the language as the catalogue names it."""

    name: str
    dataset: str
    language: str


def mteb_tasks(datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, MtebTask]:
    """Return the tasks of MTEB by dataset and by forum, in the order of checked entries of ``datasets.yaml``."""
    tasks = {}
    for name, entry in datasets.items():
        forums = {f"{name}-{forum}": each for forum, each in entry.get("forums", {}).items()}
        for each, facts in {name: entry, **forums}.items():
            if "mteb" in facts:
                tasks[each] = MtebTask(facts["mteb"]["task"], facts["mteb"]["dataset"], entry["language"])
    return tasks
