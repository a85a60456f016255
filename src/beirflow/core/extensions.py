"""Extensions: packages that add rules, files, keys of the configuration and pages to the core, which names none of them.

Those of the project are the folders of ``beirflow.extensions``; others are installed with an entry point of the group
``beirflow.extensions`` that names their package, ``beirflow_<name>``. Each holds an :class:`Extension` called ``EXTENSION``. What
else its folder may hold is found by its place, as in the workflow of the core:

- ``rules/*.smk``: rules, included after those of the core;
- ``report/``: templates and scripts of pages;
- ``shown.py``: further tables of the report (report/registry.py).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from beirflow import EXTENSIONS
from beirflow.core.errors import ConfigError
from beirflow.core.patterns import Pattern

GROUP = "beirflow.extensions"


class Page(NamedTuple):
    """A page that an extension writes, with a record of its files."""

    path: Pattern  # of the page below the results
    title: str = ""  # what it is, in words, for a crate; none describes it without
    catalogue: Callable[[], Mapping[str, Any]] = dict  # by key of its record, what the files of the extension say here
    configured: tuple[str, ...] = ()  # keys of the configuration that its record has, and an audit makes it again with


class Analysis(NamedTuple):
    """The analyzer of a name, or why there is none."""

    make: str = ""  # function that returns it from its name, as "module:function"
    made: Mapping[str, str] = {}  # packages with the versions that its terms are of, for records
    problem: str = ""  # why there is none, and what to do


class Command(NamedTuple):
    """A command of ``beirflow``, and perhaps the target of its name, a rule that looks at results."""

    module: str  # as those of ``beirflow.cli`` are
    content: str = ""  # description of the target; empty for a command that runs no workflow
    options: type[Any] | None = None  # class of the keys of its options
    makes_results: bool = False  # whether the target makes missing results first, for which there must be the datasets


class Inventory(NamedTuple):
    """A file that names files of the results with their digests, with copies in a folder next to it."""

    path: Pattern  # of the file below the results
    named: Callable[[Any], set[str]]  # from its JSON, the files that were there when it was written
    copies: Pattern  # the folder of the copies; an audit makes those again that are derived files by a pattern of their own


class Observer(NamedTuple):
    """An observer of jobs. It never changes the results of a job."""

    around: Callable[[Path, str], AbstractContextManager[None]]  # runs around each job, by the folder of results and its name
    # is called once the job computes on a GPU: with that, or None for an unknown one, and what counts the jobs that share it
    gpu: Callable[[Any, Callable[[], int] | None], None]


class Store(NamedTuple):
    """A place outside the results that has what steps made elsewhere. Neither function may make a job fail."""

    # writes what a step made to a path, and returns the facts of its record; None where it has to be computed
    take: Callable[[Any, Path], Any]
    # is called with a computed file and the fields of its record
    keep: Callable[[Any, Path, Mapping[str, Any]], None]


class Addition(NamedTuple):
    """An addition of an extension to the file that a rule of the core makes."""

    function: str  # that the job calls, "beirflow.extensions.<name>.<module>:<function>"; an edit to it makes the file again
    keys: tuple[str, ...] = ()  # of the configuration, whose values it gets by name; each is a column of the file too


class Maker(NamedTuple):
    """The way in which models make additions to documents of a kind; functions are named as "module:function"."""

    rule: str  # that makes those of a chunk
    problem: str  # function that returns from an Expansion why it cannot be made, or None


class Form(NamedTuple):
    """A form of dense systems: a setting in addition to ``base``, by which a model is made for each dataset.

    The records of the models have the seconds of that below the same key.
    """

    settings: Callable[[], type[Any]]  # returns the class of its value, which jobs import too
    about: Callable[[], type[Any]]  # returns the class that describes it to plans and audits, as families/form.py has it


class Unrepeated(NamedTuple):
    """A part of results that an audit cannot make again, by the pattern of its records."""

    name: str  # of the check that is not made
    found: Callable[[Mapping[str, Any]], str]  # from these records by path, what was not repeated


@dataclass(frozen=True)
class Extension:
    """The additions of an extension besides the files in its folder."""

    folder: Path
    keys: type[Any] | None = None  # class of its keys of the configuration, in the types of core.keys
    patterns: tuple[Pattern, ...] = ()  # of its files below the results
    # by word, which may be a pattern too, the file that it makes and its description
    targets: Mapping[str, tuple[Pattern, str]] = field(default_factory=dict)
    # by name in a pattern, its values in an Experiment
    names: Mapping[str, Callable[[Any], Iterable[str]]] = field(default_factory=dict)
    pages: Mapping[Pattern, Page] = field(default_factory=dict)  # by the pattern of their record
    commands: Mapping[str, Command] = field(default_factory=dict)  # by name
    inventories: tuple[Inventory, ...] = ()  # among its files
    note: str = ""  # HTML at the end of the report
    shown: Callable[[Any], Iterable[str]] | None = None  # returns further files that its tables read, of an Experiment
    not_rebuilt: tuple[Pattern, ...] = ()  # files that an audit does not make again
    unrepeated: Mapping[Pattern, Unrepeated] = field(default_factory=dict)  # by the pattern of its records
    from_outside: Mapping[Pattern, tuple[str, ...]] = field(default_factory=dict)  # by table, columns from no result
    makers: Mapping[str, Maker] = field(default_factory=dict)  # by kind of an Expansion
    analyzers: Mapping[str, Analysis] = field(default_factory=dict)  # by name, which is another one where the terms are others
    check: Callable[[Any, Any], None] | None = None  # adds to Problems what is wrong with its keys in an Experiment
    # raises ConfigError if rules that will run, in a set, lack what they need of an Experiment
    planned: Callable[[Any, Set[str]], None] | None = None
    without_influence: tuple[str, ...] = ()  # keys of the configuration that no result depends on
    observer: Observer | None = None  # of every job that writes a file
    store: Store | None = None  # asked before a step computes a file
    additions: Mapping[str, Addition] = field(default_factory=dict)  # by rule: collect_costs, describe_systems, explain_result
    forms: Mapping[str, Form] = field(default_factory=dict)  # of dense systems, by key
    family: Callable[[], Any] | None = None  # returns a family of systems, as families/family.py has it
    # by a word for ``encoder``, and by family, the class that computes its models, as "module:class"
    encoders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """Name of its package."""
        return self.folder.name if self.folder.name.startswith("beirflow_") else f"{GROUP}.{self.folder.name}"


@cache
def extensions() -> tuple[Extension, ...]:
    """Return the extensions of the project, by name, then the installed ones of others."""
    own = sorted(path.parent.name for path in EXTENSIONS.glob("*/__init__.py"))
    others = sorted(point.value for point in entry_points(group=GROUP))
    if wrong := [value for value in others if not re.fullmatch(r"beirflow_\w+", value)]:
        todo = "install a version of it whose entry point does, or remove it"
        raise ConfigError(f"the entry point {wrong[0]!r} of the group {GROUP} does not name a package beirflow_<name>; {todo}")
    return tuple(import_module(name).EXTENSION for name in (*(f"beirflow.extensions.{name}" for name in own), *others))


def with_extensions(folder: Path) -> list[Path]:
    """Return a folder of the workflow, and those of the same name that extensions have."""
    return [folder, *(path for extension in extensions() if (path := extension.folder / folder.name).is_dir())]


def forms() -> dict[str, Form]:
    """Return the forms of dense systems of all extensions, by key."""
    return {key: form for extension in extensions() for key, form in extension.forms.items()}


def encoders() -> dict[str, Mapping[str, str]]:
    """Return the classes that compute models in place of beirflow, of all extensions, by the word for ``encoder`` and family."""
    return {word: classes for extension in extensions() for word, classes in extension.encoders.items()}


def commands() -> dict[str, Command]:
    """Return the commands of all extensions, by name."""
    return {name: command for extension in extensions() for name, command in extension.commands.items()}


def command_targets() -> dict[str, str]:
    """Return the descriptions of the targets of commands, by name."""
    return {name: command.content for name, command in commands().items() if command.content}


def additions_to(rule: str, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return, by function that a job of a rule of the core calls for an extension, the values of its keys."""
    found = [extension.additions[rule] for extension in extensions() if rule in extension.additions]
    return {each.function: {key: config[key] for key in each.keys} for each in found}


def shown_files(experiment: Any) -> list[str]:
    """Return the files that tables of extensions read besides those of the core."""
    return [path for extension in extensions() if extension.shown for path in extension.shown(experiment)]
