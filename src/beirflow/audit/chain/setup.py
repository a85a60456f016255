"""The configuration of the person who audits, with the families: all that an audit knows of what makes runs.

An :class:`~beirflow.config.experiment.Experiment` is one.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from beirflow.data.catalogue.catalogue import Catalogue
from beirflow.data.catalogue.dataset import Dataset
from beirflow.families.family import Family
from beirflow.families.system import System


class Setup(Protocol):
    """Systems and datasets by their names, and where their files are."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration with every default filled in."""

    @property
    def catalogue(self) -> Catalogue:
        """The facts that the project knows."""

    @property
    def rows(self) -> Mapping[str, tuple[Dataset, ...]]:
        """Every known dataset by name with its corpora."""

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        """Every known corpus by name."""

    @property
    def systems(self) -> Mapping[str, System]:
        """Every known system by name."""

    @property
    def families(self) -> Mapping[str, Family]:
        """Every family by name."""

    @property
    def published_systems(self) -> Mapping[str, System]:
        """The systems of the catalogue by name."""

    def folder(self, name: str) -> str | None:
        """Return the folder, archive or file of a corpus on this machine; None if there is none."""

    def run_file(self, system: str, dataset: str) -> str | None:
        """Return the file outside the results that holds a run; None if the run is made here."""

    def unknown_in(self, entry: Mapping[str, Any]) -> str:
        """Return in words what nothing here knows of an entry of a manifest, its family or a setting; empty if all is known."""

    def system_as_stated(self, name: str, entry: Mapping[str, Any]) -> System:
        """Return the system that an entry of a manifest states."""

    def as_stated(self, manifest: Mapping[str, Any], documents: Mapping[str, int]) -> Any:
        """Return the experiment that a manifest states; ``documents`` are the recorded numbers by corpus."""

    def systems_as_configured(self, entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, System]:
        """Return the systems of the catalogue and those that a configuration defines, if their families are known."""

    def with_needed(self, names: list[str], systems: Mapping[str, System]) -> list[str]:
        """Return the names of systems and of all that they are made from."""
