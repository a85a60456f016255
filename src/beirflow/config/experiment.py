"""The experiment: the configuration joined with the catalogue, for the rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from beirflow.config.dependencies import needed, runs_needed, tuning_corpus
from beirflow.config.known_systems import Systems
from beirflow.config.main_measure import main_measure
from beirflow.core.addresses import shown
from beirflow.core.extensions import extensions
from beirflow.families.postings.names import ENGLISH
from beirflow.families.system import of_datasets
from beirflow.ranking.run_settings import ConfiguredRun

MOST_THREADS = 8  # of a job that encodes or searches

NO_INFLUENCE = (
    *("command", "figure_width", "figure_font", "references"),
    *("prices", "results"),
    *(key for extension in extensions() for key in extension.without_influence),
)
"""Keys of the configuration that are about looking at results; a manifest lacks them."""

TUNED_ON = "tuned_on"  # key in a manifest of the datasets that are not evaluated, but on which systems are tuned


@dataclass(frozen=True)
class Experiment(Systems):
    """Known and configured datasets and systems, and each system on each dataset."""

    @cached_property
    def needed_runs(self) -> list[tuple[str, str]]:
        """Return system and corpus of every run, those that others are made from or tuned with included."""
        chosen = [(name, self.datasets[corpus]) for name in self.chosen_systems for corpus in self.chosen_datasets]
        return [(name, corpus.name) for name, corpus in runs_needed(chosen, self.systems, self.rows)]

    @property
    def tuning_rows(self) -> dict[str, list[str]]:
        """Return by dataset that is not configured but used for tuning, the names of its corpora that are needed."""
        by_row, chosen = dict[str, list[str]](), set(self.chosen_datasets)
        for name in dict.fromkeys(corpus for _, corpus in self.needed_runs if corpus not in chosen):
            by_row.setdefault(self.datasets[name].row, []).append(name)
        return by_row

    def tuned_on(self, system: str, dataset: str) -> str | None:
        """Return the corpus on whose queries settings of a system are tuned for another; None if they are stated."""
        how = self.family(system).tuned_on(self.systems[system].settings)
        corpus = how and tuning_corpus(how, self.datasets[dataset], self.rows)
        return corpus.name if corpus else None

    @property
    def configured(self) -> dict[str, Any]:
        """Return the configuration as the manifest states it: without passwords, and without what changes no result."""
        rows = {self.datasets[name].whole_row for _, name in self.needed_runs}
        systems = {name: asdict(self.systems[name]) for name in self.needed_systems}
        influential = {key: value for key, value in self.config.items() if key not in NO_INFLUENCE}
        return {
            "configuration": influential | {"mirrors": shown(self.config["mirrors"])},
            "systems": {name: each | {"settings": of_datasets(each["settings"], rows)} for name, each in systems.items()},
            "datasets": self._corpora(self.chosen_rows),
            **({TUNED_ON: self._corpora(self.tuning_rows)} if self.tuning_rows else {}),
        }

    def _corpora(self, rows: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
        datasets = self.datasets
        return {
            row: [asdict(datasets[name]) | {"files": dict(datasets[name].files)} for name in names] for row, names in rows.items()
        }

    @property
    def main_measure(self) -> str:
        """Return the measure by which systems are ranked, compared, drawn and tuned."""
        return main_measure(self.config)

    def shared_with(self, name: str, system: str | None = None) -> str | None:
        """Return the configured dataset whose vectors a configured dataset reuses for equal texts; None if there is none.

        A ``system`` with a model for each dataset, or that is a class that may be told which dataset it is, has other vectors for
        equal texts.
        """
        other, chosen = self.datasets[name].shares_texts_with, self.chosen_rows
        if name not in chosen or other is None or (system is not None and not self.reuses(system)):
            return None
        return next((row for row in chosen if self.rows[row][0].whole_row == other), None)

    def options(self, command: str) -> Mapping[str, Any]:
        """Return the options of a command that the configuration has."""
        return (self.config["command"] or {}).get(command, {})

    def settings_for(self, system: str, dataset: str) -> Any:
        """Return the settings of a system as they are for one corpus."""
        corpus = self.datasets[dataset]
        return self.family(system).for_dataset(self.systems[system].settings, corpus.whole_row, corpus.whole_name)

    def run_settings(self, system: str, dataset: str) -> dict[str, Any]:
        """Return the settings that determine a run, for its record."""
        form = self.datasets[dataset].form
        corpus = vars(self.datasets[dataset]) | {"form": asdict(form) if form else None}
        return self.family(system).run_settings(self.settings_for(system, dataset), corpus, self.config, self.main_measure)

    def configured_runs(self, runs: Iterable[tuple[str, str]]) -> list[ConfiguredRun]:
        """Return runs as they are configured, by system and corpus."""
        configured = list[ConfiguredRun]()
        for system, dataset in runs:
            systems = [self.systems[name] for name in needed([system], self.systems)]
            rules = [stage.rule for each in systems for stage in self.family(each.name).stages]
            made = [form.rule for name, form in self.forms.items() if name in (each.name for each in systems)]
            settings = self.run_settings(system, dataset)
            configured.append(
                ConfiguredRun(system=system, dataset=dataset, settings=settings, rules=list(dict.fromkeys(made + rules)))
            )
        return configured

    def in_paths(self, system: str, dataset: str) -> dict[str, str]:
        """Return the names in the paths of what a system stores of a corpus: as ``system``, the one that represents its texts."""
        return self.family(system).in_paths(self.settings_for(system, dataset))

    def analyzers(self, dataset: str) -> list[str]:
        """Return the analyzers of the lexical systems that are needed, on a corpus; without such a system that of English."""
        indexes = [own["analyzer"] for each in self.needed_systems if "analyzer" in (own := self.in_paths(each, dataset))]
        return list(dict.fromkeys(self.expansions.indexes[name].analyzer for name in indexes)) or [ENGLISH]
