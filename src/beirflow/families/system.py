"""A retrieval system and its settings, as the configuration and jobs have them.

Apart from the interface of a family, whose changes run no job again.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from beirflow.core.keys import As, Split, Text
from beirflow.run.by_name import by_name


@dataclass(frozen=True)
class TrainedOn:
    """Datasets that a system was trained on, so that it is no zero-shot system on them. Unless stated, they are not known."""

    datasets: Annotated[Mapping[str, str] | None, As(dict[str, Split])] = None
    """By name of a dataset of the catalogue or of custom.datasets, the split, such as {msmarco: train}; {} for none. Left out if
    nobody states them."""
    source: Text = ""
    """The publication that states them, or does not."""

    @property
    def sentence(self) -> str:
        """Return the datasets with their splits, and the source."""
        names = [f"{name} {split}" for name, split in (self.datasets or {}).items()]
        datasets = "not stated" if self.datasets is None else ", ".join(names) or "no dataset that is known here"
        return f"{datasets}; {self.source}" if self.source else datasets


@dataclass(frozen=True)
class System:
    """A retrieval system: its name in the configuration, paths and tables, its family, and the settings of that family."""

    name: str
    family: str
    settings: Any
    trained_on: TrainedOn = TrainedOn()


def of_datasets(settings: Mapping[str, Any], rows: Container[str]) -> dict[str, Any]:
    """Return settings without the analyzers of languages in which none of some datasets is; the catalogue has hundreds."""
    analyzers = {row: each for row, each in settings.get("analyzers", {}).items() if row in rows}
    return {**settings, **({"analyzers": analyzers} if "analyzers" in settings else {})}


def system_of(name: str, entry: Mapping[str, Any]) -> System:
    """Make a system from the parameters of a rule: ``family``, ``settings``, and ``kind``, their class as ``module:class``."""
    return System(name, entry["family"], settings_of(entry["kind"], entry["settings"]))


def settings_of(kind: str, settings: Mapping[str, Any]) -> Any:
    """Build the settings of a system from the parameters of a rule: their class, as ``module:class``, and its fields."""
    return by_name(kind)(**settings)


class Setting(NamedTuple):
    """A setting that cannot be used."""

    key: str
    value: Any
    problem: str  # a sentence that says why, and what to do
    system: str | None = None  # the system whose setting it is, if not this one
