"""The results of a configuration that can be explained, and checks that there are any."""

from collections.abc import Set

from beirflow.config.experiment import Experiment
from beirflow.core.errors import ConfigError
from beirflow.core.layout import RESULTS
from beirflow.data.catalogue.schema import Problems, nearest
from beirflow.extensions.explain import EXPLANATION


def published_results(experiment: Experiment) -> dict[str, str]:
    """Return the page that explains each configured result with a published score, by ``<system>/<dataset>``."""
    return {
        f"{system}/{dataset}": EXPLANATION.below(RESULTS).format(system=system, dataset=dataset)
        for system in experiment.chosen_systems
        for dataset in experiment.chosen_datasets
        if experiment.catalogue.references(system, dataset)
    }


def explanations(experiment: Experiment) -> list[str]:
    """Return the page of the result that the command names, or all of these."""
    pages, result = published_results(experiment), experiment.options("explain").get("result")
    return [pages[result]] if result else list(pages.values())


def check_result(experiment: Experiment, problems: Problems) -> None:
    """Check that there is a published score of the result that the command names."""
    result, results = experiment.options("explain").get("result"), published_results(experiment)
    if result not in (None, *results):
        with_scores = ", ".join(results) or "none: no configured system has a published score on a configured dataset"
        problems.add("command.explain.result", result, f"allowed are null and {with_scores}{nearest(result, results)}")


def check_planned(experiment: Experiment, rules: Set[str]) -> None:
    """Check that there is a result to explain; raise ConfigError before the explanation is tried."""
    if "explain" in rules and not explanations(experiment):
        raise ConfigError(
            "explain: nothing is published of these systems on these datasets; ask for a result with a published score, e.g."
            " snakemake --cores 2 --config systems=bm25 datasets=nfcorpus -- explain"
        )
