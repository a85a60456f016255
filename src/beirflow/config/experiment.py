"""The experiment: the configuration joined with the catalogue, for the rules."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any

from beirflow.config.configuration import defaults
from beirflow.config.dependencies import needed, runs_needed, trained_on, tuning_corpus
from beirflow.config.known_systems import Systems
from beirflow.config.main_measure import main_measure, name_of
from beirflow.config.manifest import NO_INFLUENCE, TUNED_ON
from beirflow.core.addresses import shown
from beirflow.core.digests import file_state
from beirflow.core.layout import CORPUS, EXPLANATION, QRELS, QUERIES, RESULTS, RUN, RUN_RECORD
from beirflow.data.catalogue.catalogue import of_seeds
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.sources.forms import form_of
from beirflow.families.postings.names import ENGLISH
from beirflow.ranking.measures.all_measures import MEASURES
from beirflow.ranking.run_settings import ConfiguredRun

MOST_THREADS = 8  # of a job that encodes or searches


@dataclass(frozen=True)
class Experiment(Systems):
    """Known and configured datasets and systems, and each system on each dataset."""

    def as_stated(self, manifest: Mapping[str, Any], documents: Mapping[str, int]) -> "Experiment":
        """Return the experiment that a manifest states, without places of datasets; ``documents`` are counted by corpus."""
        stated, rows = manifest["configuration"], {**manifest.get(TUNED_ON, {}), **manifest["datasets"]}
        config = {**defaults(), **stated, "datasets": list(manifest["datasets"]), "extra_judgements": {}, "command": None}
        made = {
            row: tuple(
                Dataset(**{**corpus, "form": form_of(corpus["form"]), "documents": documents.get(corpus["name"]), "path": None})
                for corpus in corpora
            )
            for row, corpora in rows.items()
        }
        systems = {name: self.system_as_stated(name, entry) for name, entry in manifest["systems"].items()}
        every = {**self.catalogue.known_datasets, **made}
        return Experiment(
            config=config,
            catalogue=self.catalogue,
            systems=systems,
            rows=every,
            datasets={dataset.name: dataset for datasets in every.values() for dataset in datasets},
        )

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

    @property
    def needed_rows(self) -> dict[str, list[str]]:
        """Return the configured datasets and these: of each, the names of its corpora."""
        return self.chosen_rows | self.tuning_rows

    def tuned_on(self, system: str, dataset: str) -> str | None:
        """Return the corpus on whose queries settings of a system are tuned for another; None if they are stated."""
        how = self.family(system).tuned_on(self.systems[system].settings)
        corpus = how and tuning_corpus(how, self.datasets[dataset], self.rows)
        return corpus.name if corpus else None

    @cached_property
    def in_domain(self) -> dict[str, dict[str, str] | None]:
        """Return, by configured system, the configured datasets that it was trained on with the split; None if not stated."""
        tuned = {
            name: [self.datasets[on] for corpus in self.chosen_datasets if (on := self.tuned_on(name, corpus))]
            for name in self.needed_systems
        }
        splits = {name: trained_on(name, self.systems, tuned) for name in self.chosen_systems}
        wholes = {row: self.rows[row][0].whole_row for row in self.chosen_rows}  # of other splits and samples too
        return {
            name: None if of is None else {row: of[whole] for row, whole in wholes.items() if whole in of}
            for name, of in splits.items()
        }

    @property
    def _seen(self) -> set[str]:
        """Return the configured datasets that a configured system was trained on."""
        return {row for splits in self.in_domain.values() for row in splits or ()}

    @property
    def averages(self) -> dict[str, list[str]]:
        """Return, by its label, the configured datasets of every mean over several, whose queries are others."""
        every = self.catalogue.averages(list(self.chosen_rows), self._seen)
        # Samples of one dataset share queries: intervals over them as if they did not would be too narrow.
        return {label: rows for label, rows in every.items() if not of_seeds(rows)}

    @property
    def blocks(self) -> list[list[str]]:
        """Return the configured datasets that no configured system was trained on, those with shared texts together."""
        by_texts, seen = dict[str, list[str]](), self._seen
        for row in (row for row in self.chosen_rows if row not in seen):
            first = self.rows[row][0]
            by_texts.setdefault(first.shares_texts_with or first.whole_row, []).append(row)
        return list(by_texts.values())

    def tuning_files(self, system: str, dataset: str) -> list[str]:
        """Return the files that settings of a system are tuned with for a corpus, as rules have them; none if they are stated."""
        on = self.tuned_on(system, dataset)
        if on is None:
            return []
        patterns = (*product((RUN, RUN_RECORD), self.first_stages(system)), *((each, "") for each in (CORPUS, QUERIES, QRELS)))
        evaluated = [QUERIES.below(RESULTS).format(dataset=dataset)]
        return [pattern.below(RESULTS).format(system=name, dataset=on) for pattern, name in patterns] + evaluated

    @property
    def configured(self) -> dict[str, Any]:
        """Return the configuration as the manifest states it: without passwords, and without what changes no result."""
        influential = {key: value for key, value in self.config.items() if key not in NO_INFLUENCE}
        return {
            "configuration": influential | {"mirrors": shown(self.config["mirrors"])},
            "systems": {name: asdict(self.systems[name]) for name in self.needed_systems},
            "datasets": self._corpora(self.chosen_rows),
            **({TUNED_ON: self._corpora(self.tuning_rows)} if self.tuning_rows else {}),
        }

    def _corpora(self, rows: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
        datasets = self.datasets
        return {
            row: [asdict(datasets[name]) | {"files": dict(datasets[name].files)} for name in names] for row, names in rows.items()
        }

    @property
    def baseline(self) -> str:
        """Return the configured system that the others are compared with."""
        return self.config["baseline"] or self.chosen_systems[0]

    @property
    def main_measure(self) -> str:
        """Return the measure by which systems are ranked, compared, drawn and tuned."""
        return main_measure(self.config)

    @property
    def topic_measure(self) -> str:
        """Return the main measure if it compares the queries of a topic, else nothing."""
        needs = MEASURES[name_of(self.main_measure)].needs
        return self.main_measure if needs and needs.compare_queries else ""

    @property
    def figure_style(self) -> dict[str, Any]:
        """Return the width of figures in inches, and their font."""
        return {"width": self.config["figure_width"], "font": self.config["figure_font"]}

    def shared_with(self, name: str, system: str | None = None) -> str | None:
        """Return the configured dataset whose vectors a configured dataset reuses for equal texts; None if there is none.

        A ``system`` with a model for each dataset, or that is a class that may be told which dataset it is, has other vectors for
        equal texts.
        """
        other, chosen = self.datasets[name].shares_texts_with, self.chosen_rows
        if name not in chosen or other is None or (system is not None and not self.reuses(system)):
            return None
        return next((row for row in chosen if self.rows[row][0].whole_row == other), None)

    @property
    def published_results(self) -> dict[str, str]:
        """Return the page that explains each configured result with a published score, by ``<system>/<dataset>``."""
        return {
            f"{system}/{dataset}": EXPLANATION.below(RESULTS).format(system=system, dataset=dataset)
            for system in self.chosen_systems
            for dataset in self.chosen_datasets
            if any(dataset in source["scores"] for source in self.catalogue.published.get(system, ()))
        }

    @property
    def explanations(self) -> list[str]:
        """Return the page of the result that the command names, or all of these."""
        pages, result = self.published_results, self.options("explain").get("result")
        return [pages[result]] if result else list(pages.values())

    def options(self, command: str) -> Mapping[str, Any]:
        """Return the options of a command that the configuration has."""
        return (self.config["command"] or {}).get(command, {})

    def settings_on(self, system: str, dataset: str, *unused: str) -> dict[str, Any]:
        """Return the settings of a system as they are for one corpus, without unused ones."""
        return {key: value for key, value in asdict(self._on(system, dataset)).items() if key not in unused}

    def fields_of(self, system: str, dataset: str, step: str) -> dict[str, Any]:
        """Return the fields of a system that a step depends on, a named tuple among its settings, as they are for one corpus."""
        fields: dict[str, Any] = getattr(self._on(system, dataset), step)._asdict()
        return fields

    def _on(self, system: str, dataset: str) -> Any:
        """Return the settings of a system as they are for one corpus."""
        corpus = self.datasets[dataset]
        return self.family(system).for_dataset(self.systems[system].settings, corpus.whole_row, corpus.whole_name)

    def modules_by_name(self, system: str, dataset: str) -> tuple[str, ...]:
        """Return the modules that the stages of a system import by name for a corpus."""
        return self.family(system).by_name(self._on(system, dataset))

    def encoding(self, system: str, dataset: str, *unused: str) -> dict[str, Any]:
        """Return the settings that determine the vectors of a system; a change of any other setting re-encodes nothing.

        They are fields of :class:`~beirflow.models.settings.EncoderSettings`, and depend on the corpus, whose queries may have an
        instruction of their own; ``unused`` are settings for the other kind of text. The digest of the weights is in the record
        of the model.
        """
        settings = self._on(system, dataset).used_encoding
        return {key: value for key, value in asdict(settings).items() if key not in ("weights_sha256", *unused)}

    def run_settings(self, system: str, dataset: str) -> dict[str, Any]:
        """Return the settings that decide over a run, for its record."""
        corpus = asdict(self.datasets[dataset])
        return self.family(system).run_settings(self._on(system, dataset), corpus, self.config, self.main_measure)

    def configured_runs(self, runs: Iterable[tuple[str, str]]) -> list[ConfiguredRun]:
        """Return runs as they are configured, by system and corpus."""
        configured = list[ConfiguredRun]()
        for system, dataset in runs:
            systems = [self.systems[name] for name in needed([system], self.systems)]
            rules = [stage.rule for each in systems for stage in self.family(each.name).stages]
            made = [form.stage.rule for name, form in self.forms.items() if name in (each.name for each in systems)]
            settings = self.run_settings(system, dataset)
            configured.append(
                ConfiguredRun(system=system, dataset=dataset, settings=settings, rules=list(dict.fromkeys(made + rules)))
            )
        return configured

    def model_record(self, system: str, dataset: str) -> str:
        """Return the record of the model of a system on a dataset: its own, or that of the system that it varies."""
        pattern = self.family(system).model_record(self.systems[system].settings)
        if pattern is None:
            raise ValueError(f"{system} has no model")
        return pattern.below(RESULTS).format(system=self.encoder_of(system), dataset=dataset)

    def in_paths(self, system: str, dataset: str) -> dict[str, str]:
        """Return the names in the paths of what a system stores of a corpus: as ``system``, the one that represents its texts."""
        return self.family(system).in_paths(self._on(system, dataset))

    def analyzers(self, dataset: str) -> list[str]:
        """Return the analyzers of the lexical systems that are needed, on a corpus; without such a system that of English."""
        indexes = [own["analyzer"] for each in self.needed_systems if "analyzer" in (own := self.in_paths(each, dataset))]
        return list(dict.fromkeys(self.expansions.index(name).analyzer for name in indexes)) or [ENGLISH]

    def run_file(self, system: str, dataset: str) -> str | None:
        """Return the file outside the results with the run of a system on a corpus; None if the run is made here."""
        path = self.family(system).source(self.systems[system].settings, self.datasets[dataset].whole_name)
        return None if path is None else str(path)

    def run_state(self, system: str, dataset: str) -> str | None:
        """Return the present state of that file."""
        path = self.run_file(system, dataset)
        return None if path is None else file_state(path)

    def given_file(self, expansion: str, dataset: str) -> str:
        """Return the file outside the results that holds a given expansion for a corpus."""
        return self.expansions.file(expansion, self.datasets[dataset].whole_name)

    def gpu_share(self, limits: Mapping[str, int]) -> tuple[int, int | None]:
        """Return threads and ``gpu`` that a job requests from Snakemake to compute on a GPU.

        ``limits`` are Snakemake's: ``_cores`` and, if it is limited, ``gpu``, the number of such jobs at once. Threads are so few
        that all these jobs find cores; the share of ``gpu`` is None if that is not limited: an executor of a cluster would ask
        for a GPU, which a profile decides.
        """
        gpus, cores = limits.get("gpu"), limits.get("_cores")
        if self.config["device"] == "cpu" or gpus is None:
            return MOST_THREADS, None
        # An executor of a cluster has no ``_cores``.
        return max(1, min(MOST_THREADS, (cores or MOST_THREADS) // max(1, gpus))), 1
