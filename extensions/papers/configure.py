"""The configuration that runs a paper, and what of it is here already."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from beirflow.config.experiment import Experiment
from beirflow.core.errors import BeirflowError, ConfigError
from beirflow.core.layout import CORPUS, METRICS, RESULTS
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import choices
from beirflow.extensions.papers.read import Paper
from beirflow.models.model_places import model_folder, towers
from beirflow.models.settings import ModelSettings


def configuration_of_paper(paper: Paper, datasets: Sequence[str] = (), systems: Sequence[str] = ()) -> dict[str, Any]:
    """Return the systems, datasets and measures of a paper as a configuration; of all, or of some.

    Datasets that only their users have are left out unless they are named. Raises ConfigError for a name that is not in the
    paper, or if nothing is left to run.
    """
    rows = rows_of(paper.datasets)
    for kind, named, known in (("--datasets", datasets, rows), ("--systems", systems, paper.systems)):
        for name in named:
            if name not in known:
                raise ConfigError(f"{kind}: the paper {paper.name} has no {name}; {choices(name, known)}")
    named = [name for name in systems or paper.systems if paper.names(name)]
    if not named:
        raise ConfigError(f"no system of {paper.name} can be run here: {next(iter(paper.systems.values()))['needs']}")
    own = {paper.custom_name(name): dict(entry) for name in named if (entry := paper.entry(name))}
    cutoffs = {int(each.partition("@")[2]) for each in paper.content["measures"]}
    return {
        "systems": list(dict.fromkeys(paper.names(name)[0] for name in named)),
        "datasets": list(datasets) or [name for name in rows if name not in load_catalogue().own_copies],
        # Which give the printed values, where a model has a choice.
        "precision": "float32",
        "cutoffs": sorted({1, 3, 5, 10, 100, 1000} | cutoffs),
        "custom": {"systems": own, "datasets": dict(paper.content["datasets"])},
    }


def rows_of(names: Iterable[str]) -> list[str]:
    """Return the datasets that a configuration can name, for some of a paper: of forums, the dataset of these."""
    catalogue = load_catalogue().known_datasets
    row_of = {corpus.name: corpus.row for corpora in catalogue.values() for corpus in corpora}
    return list(dict.fromkeys(name if name in catalogue else row_of.get(name, name) for name in names))


def values_here(paper: Paper, experiment: Experiment) -> tuple[int, int, int]:
    """Return the number of printed values, of those that are computed, and of those with data and model on this machine."""
    results = Path(experiment.config["results"])
    names = {system: next((name for name in paper.names(system) if name in experiment.systems), "") for system in paper.systems}
    models = {system: bool(name) and _has_model(experiment, name) for system, name in names.items()}
    data = {name: _has_data(experiment, results, name) for name in paper.datasets}
    computed = [(results / METRICS(system=names[each.system], dataset=each.dataset)).is_file() for each in paper.values]
    at_hand = [there or (models[each.system] and data[each.dataset]) for each, there in zip(paper.values, computed, strict=True)]
    return len(paper.values), sum(computed), sum(at_hand)


def _has_data(experiment: Experiment, results: Path, name: str) -> bool:
    """Test whether a dataset, or the corpus of a forum, is on this machine."""

    def is_here(corpus: str) -> bool:
        """Test whether a corpus is prepared, or its sources are here."""
        files = (Path(path.replace(RESULTS, str(results))) for path in experiment.source_files(corpus))
        return (results / CORPUS(dataset=corpus)).is_file() or all(file.exists() for file in files)

    try:
        return all(map(is_here, [corpus.name for corpus in experiment.rows.get(name, ())] or [name]))
    except (ConfigError, KeyError):  # of a dataset that only its users have, or of a part of one
        return False


def _has_model(experiment: Experiment, name: str) -> bool:
    """Test whether the models of a system, and of those that it is made from, are on this machine."""
    needed = experiment.with_needed([name], experiment.systems)
    settings = [experiment.systems[each].settings for each in needed if not experiment.model_files(each)]
    try:
        for tower in (tower for each in settings if isinstance(each, ModelSettings) for tower in towers(each)):
            model_folder(tower)
    except BeirflowError:
        return False
    return all(experiment.expansions.files(added) for each in needed for added in experiment.expansions.of_system(each))
