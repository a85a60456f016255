"""Datasets as tasks of MTEB: those that the catalogue knows, and those that the configuration describes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import MinLen

from beirflow.core.keys import UNIQUE, Text, matching

LANGUAGES = {"English": "eng-Latn"}  # by name in the catalogue, the code in MTEB

WRITTEN = ("dataset", "name", "description", "type", "modalities", "category", "eval_splits", "eval_langs", "main_score")
"""Fields of MTEB's TaskMetadata that are known without ``metadata``."""

TaskName: Any = matching(
    "[A-Za-z][A-Za-z0-9._-]{0,99}", "a name of letters, digits, dots, dashes and underscores, since it names files"
)
Language: Any = matching("[a-z]{3}-[A-Z][a-z]{3}", "a language and its script, as eng-Latn or cmn-Hans (ISO 639-3 and ISO 15924)")


class Task(NamedTuple):
    """A task of MTEB."""

    name: str
    data: str  # what model cards call its data
    languages: Sequence[str]  # as MTEB codes them


@dataclass(frozen=True)
class OwnTask:
    """A dataset as a task of one's own."""

    task: TaskName
    """Name of the task."""
    languages: Annotated[list[Language], MinLen(1), UNIQUE]
    """Languages of its texts, each with its script: eng-Latn."""
    description: Text
    """What it asks for, in a sentence."""
    category: Literal["t2t", "s2s", "s2p", "p2p"] = "t2t"
    """From what to what a query leads: of MTEB 2 t2t, text to text; of MTEB 1 a sentence (s) or a paragraph (p) to one."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further fields of MTEB's TaskMetadata: domains, license, reference, bibtex_citation and others."""


def tasks_of(experiment: Any) -> dict[str, Task]:
    """Return the tasks of the datasets of an experiment, by their names; forums have tasks too."""
    known = {name: Task(task.name, task.dataset, [LANGUAGES[task.language]]) for name, task in experiment.catalogue.mteb.items()}
    own = {name: Task(entry["task"], name, entry["languages"]) for name, entry in experiment.config["own_tasks"].items()}
    return known | own


def chosen_tasks(experiment: Any) -> list[Task]:
    """Return the tasks of the configured datasets and forums."""
    tasks = tasks_of(experiment)
    return [
        tasks[name] for name in (*experiment.mteb_datasets, *filter(experiment.config["own_tasks"].get, experiment.chosen_rows))
    ]


def check_tasks(experiment: Any, problems: Any) -> None:
    """Note tasks of one's own that are of no configured dataset, or have the name of another task or a field that is known."""
    names: Mapping[str, str] = {task.name: name for name, task in experiment.catalogue.mteb.items()}
    for name, entry in experiment.config["own_tasks"].items():
        key = f"own_tasks.{name}"
        if name not in experiment.rows:
            problems.add(key, name, "there is no such dataset; describe it under custom.datasets")
        elif name in experiment.catalogue.mteb:
            problems.add(key, name, f"MTEB has it as {experiment.catalogue.mteb[name].name}; remove this")
        if (other := names.get(entry["task"], name)) != name:
            problems.add(f"{key}.task", entry["task"], f"this is the task of {other}; name yours otherwise")
        names = {entry["task"]: name, **names}
        for field_name in (each for each in WRITTEN if each in entry.get("metadata", {})):
            problems.add(
                f"{key}.metadata.{field_name}", entry["metadata"][field_name], "this field follows from the others; remove it"
            )
