"""Parts of an experiment that readers of results need: datasets of averages, baseline."""

from typing import Any

from beirflow.config.dependencies import trained_on
from beirflow.config.experiment import Experiment
from beirflow.config.main_measure import name_of
from beirflow.data.catalogue.catalogue import of_seeds
from beirflow.ranking.measures.all_measures import MEASURES


def in_domain(experiment: Experiment) -> dict[str, dict[str, str] | None]:
    """Return, by configured system, the configured datasets that it was trained on with the split; None if not stated."""
    tuned = {
        name: [experiment.datasets[on] for corpus in experiment.chosen_datasets if (on := experiment.tuned_on(name, corpus))]
        for name in experiment.needed_systems
    }
    splits = {name: trained_on(name, experiment.systems, tuned) for name in experiment.chosen_systems}
    wholes = {row: experiment.rows[row][0].whole_row for row in experiment.chosen_rows}  # of other splits and samples too
    return {name: of and {row: of[whole] for row, whole in wholes.items() if whole in of} for name, of in splits.items()}


def _seen(experiment: Experiment) -> set[str]:
    """Return the configured datasets that a configured system was trained on."""
    return {row for splits in in_domain(experiment).values() for row in splits or ()}


def averages(experiment: Experiment) -> dict[str, list[str]]:
    """Return, by its label, the configured datasets of every mean over several, whose queries are others."""
    every = experiment.catalogue.averages(list(experiment.chosen_rows), _seen(experiment))
    # Samples of one dataset share queries: intervals over them as if they did not would be too narrow.
    return {label: rows for label, rows in every.items() if not of_seeds(rows)}


def blocks(experiment: Experiment) -> list[list[str]]:
    """Return the configured datasets that no configured system was trained on, those with shared texts together."""
    by_texts, seen = dict[str, list[str]](), _seen(experiment)
    for row in (row for row in experiment.chosen_rows if row not in seen):
        first = experiment.rows[row][0]
        by_texts.setdefault(first.shares_texts_with or first.whole_row, []).append(row)
    return list(by_texts.values())


def conventions(experiment: Experiment, system: str, corpus: str) -> dict[str, list[str]]:
    """Return the published measures of a system on a dataset, or on the one that a forum is of, by the conventions of sources."""
    dataset = experiment.datasets[corpus]
    row = dataset.row if dataset.forum else corpus
    found: dict[str, dict[str, None]] = {}
    for each in experiment.catalogue.references(system, row):
        found.setdefault(each.conventions, {})[each.computed] = None
    return {name: list(measures) for name, measures in found.items()}


def baseline(experiment: Experiment) -> str:
    """Return the configured system that the others are compared with."""
    return experiment.config["baseline"] or experiment.chosen_systems[0]


def figure_style(experiment: Experiment) -> dict[str, Any]:
    """Return the width of figures in inches, and their font."""
    return {"width": experiment.config["figure_width"], "font": experiment.config["figure_font"]}


def topic_measure(experiment: Experiment) -> str:
    """Return the main measure if it compares the queries of a topic, else nothing."""
    needs = MEASURES[name_of(experiment.main_measure)].needs
    return experiment.main_measure if needs and needs.compare_queries else ""
