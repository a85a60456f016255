"""The file of a paper, read and checked: every problem with its file and line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.config.config_files import check_config_files, key_places
from beirflow.config.models import keys_of, model_of
from beirflow.config.systems import catalogue_systems
from beirflow.config.wrong_keys import problems_of
from beirflow.core.keys import settings_of_a_class
from beirflow.core.outside_yaml import parse_yaml
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.choice import corpora_named
from beirflow.data.catalogue.schema import MISSING, Problems, choices
from beirflow.extensions.papers.findings import as_list, parse
from beirflow.extensions.papers.keys import PaperKeys, PrintedSystem

Entry = Mapping[str, Any]


class Printed(NamedTuple):
    """A printed value."""

    system: str  # as the paper names it
    dataset: str
    measure: str
    value: float


@dataclass(frozen=True)
class Paper:
    """A paper: the content of its file, whose keys :class:`~beirflow.extensions.papers.keys.PaperKeys` describes."""

    name: str
    path: Path
    content: Entry

    @property
    def systems(self) -> Mapping[str, Entry]:
        """Return the entries of its systems, by its name of each."""
        systems: Mapping[str, Entry] = self.content["systems"]
        return systems

    @property
    def values(self) -> list[Printed]:
        """Return its printed values, in their order."""
        return [
            Printed(name, dataset, measure, value)
            for name, entry in self.systems.items()
            for dataset, values in entry["scores"].items()
            for measure, value in zip(self.content["measures"], values, strict=False)
            if value is not None
        ]

    @property
    def datasets(self) -> list[str]:
        """Return the datasets with a printed value, in their order."""
        return list(dict.fromkeys(each.dataset for each in self.values))

    @property
    def zero_shot(self) -> list[str]:
        """Return those that its systems were not trained on."""
        return [name for name in self.datasets if name not in (self.content["in_domain"] or ())]

    def of_system(self, system: str, key: str) -> Any:
        """Return what a system states of a key, else what the file does."""
        own = self.systems[system][key]
        return self.content[key] if own is None else own

    def source_name(self, system: str) -> str:
        """Return the name of the source of the values of a system."""
        return str(self.systems[system]["source"] or next(iter(self.content["sources"])))

    def barred(self, system: str, dataset: str, measure: str) -> str:
        """Return why a value may not be compared; empty if it may."""
        for entries in (self.systems[system]["not_comparable"], self.content["not_comparable"]):
            if (entry := entries.get(dataset)) and measure in entry.get("measures", [measure]):
                return str(entry["reason"])
        return ""

    def custom_name(self, system: str) -> str:
        """Return the name of a system of the paper's own settings in a configuration."""
        name = f"{self.name}.{system}" if self.systems[system]["system"] or system in catalogue_systems() else system
        return re.sub(r"[^A-Za-z0-9._-]", "-", name)

    def entry(self, system: str) -> Entry | None:
        """Return what a configuration says of a system with settings of its own; None for one of the catalogue, or none."""
        stated, settings = self.systems[system]["system"], self.systems[system]["settings"]
        if not stated:
            return dict(settings) or None
        base = as_list(stated)[0]
        known = asdict(catalogue_systems()[base].settings) if base in catalogue_systems() else settings
        others = {key: value for key, value in settings.items() if key not in known or known[key] != value}
        return {"base": base, **others} if others else None

    def names(self, system: str) -> list[str]:
        """Return the names of configured systems that are this one, the best first."""
        if self.entry(system) is not None:
            return [self.custom_name(system)]
        return list(as_list(self.systems[system]["system"] or []))


def read_paper(path: Path) -> Paper:
    """Read the file of a paper. Raise ConfigError with every problem, each with its line."""
    where = f"the paper {path}"
    check_config_files([str(path)], where)
    content = parse_yaml(path.read_text(encoding="utf-8"))
    problems = problems_of(content, model_of(PaperKeys), {})
    if not problems.lines:
        content = _whole(content)
        _Checks(content, problems).check()
    problems.raise_if_any(where, key_places([str(path)]))
    return Paper(path.stem, path, content)


def _whole(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content with the defaults of its keys."""
    of_file, of_system = ({key: each for key, (_, each) in keys_of(kind).items()} for kind in (PaperKeys, PrintedSystem))
    systems = {name: {**of_system, **entry} for name, entry in content["systems"].items()}
    return {**of_file, **content, "systems": systems}


class _Checks:
    """Checks of a content that types do not make."""

    def __init__(self, content: Entry, problems: Problems) -> None:
        self._content, self._problems = content, problems
        self._rows = load_catalogue().known_datasets
        forums = (corpus.name for corpora in self._rows.values() for corpus in corpora)
        self._datasets = dict.fromkeys([*self._rows, *forums, *content["datasets"]])

    def check(self) -> None:
        """Note every problem."""
        for key, dataset in self._named_datasets():
            if dataset not in self._datasets and corpora_named(dataset, self._rows) is None:
                allowed = choices(dataset, self._datasets)
                self._problems.add(key, dataset, f"no dataset of the catalogue or this file; {allowed}")
        systems = self._content["systems"]
        for name, entry in systems.items():
            self._check_system(f"systems.{name}", entry)
            self._check_values(f"systems.{name}.scores", entry)
        for number, finding in enumerate(self._content["findings"]):
            for sentence in as_list(finding["compare"]):
                comparison = parse(sentence)
                for name in comparison.systems if comparison else ():
                    if name not in systems:
                        allowed = f"{name!r} is no system of this file; {choices(name, systems)}"
                        self._problems.add(f"findings.{number}.compare", sentence, allowed)

    def _named_datasets(self) -> Iterator[tuple[str, str]]:
        """Yield every dataset with its key."""
        content = self._content
        yield from ((f"{key}.{name}", name) for key in ("printed_as", "not_comparable") for name in content[key])
        yield from (("in_domain", name) for name in content["in_domain"] or ())
        for number, finding in enumerate(content["findings"]):
            yield from ((f"findings.{number}.datasets", name) for name in finding.get("datasets", ()))
        for system, entry in content["systems"].items():
            for key in ("scores", "not_comparable"):
                yield from ((f"systems.{system}.{key}.{name}", name) for name in entry[key])

    def _check_system(self, key: str, entry: Entry) -> None:
        problems, sources = self._problems, self._content["sources"]
        if entry["source"] is None and len(sources) > 1:
            problems.add(f"{key}.source", MISSING, f"values without a source; name one of {', '.join(sources)}")
        elif entry["source"] is not None and entry["source"] not in sources:
            problems.add(f"{key}.source", entry["source"], choices(entry["source"], sources))
        for name, value in entry["settings"].items():
            if settings_of_a_class({name: value}):
                allowed = "the file of a paper runs no class; leave it out, and say in needs which one the system is"
                problems.add(f"{key}.settings.{name}", value, allowed)
        if not (entry["system"] or entry["settings"] or entry["needs"]):
            problems.add(f"{key}.system", MISSING, "expected a system of the catalogue, settings of one, or what it needs")

    def _check_values(self, key: str, entry: Entry) -> None:
        decimals, measures = entry["decimals"] or self._content["decimals"], self._content["measures"]
        for dataset, values in entry["scores"].items():
            if len(values) > len(measures):
                self._problems.add(f"{key}.{dataset}", values, f"expected at most {len(measures)} values: {', '.join(measures)}")
            for value in (each for each in values if each is not None and round(each, decimals) != each):
                self._problems.add(f"{key}.{dataset}", value, f"expected at most {decimals} decimals, as decimals says")
