"""From the configuration to the experiment: check it, and join it with the catalogue."""

from collections.abc import Mapping
from typing import Any

from beirflow.experiment.catalogue import load_catalogue
from beirflow.experiment.checks import check_baseline, check_combinations, check_names
from beirflow.experiment.choice import chosen_names, corpora_named
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.own_datasets import check_own_datasets, custom_dataset
from beirflow.experiment.schema import Problems, defaults, problems_with, with_booleans
from beirflow.experiment.systems import make_systems
from beirflow.experiment.tuning import tuning_rows

CONFIGURATION = "the configuration (config.yaml, --configfile, --config)"
"""How messages call it."""


def load_experiment(config: Mapping[str, Any]) -> Experiment:
    """Check the configuration and join it with the catalogue.

    Args:
        config: What Snakemake read from ``config.yaml`` and from the command line.

    Returns:
        The experiment; nothing is read or written but the catalogue and the presence of files.

    Raises:
        ConfigError: An unknown key or name, a value that is not allowed, or a combination that is impossible; the message
            lists every problem with the key's path, what was found, what is allowed and the nearest name.
    """
    config = with_booleans(config, "config")
    problems_with(config, "config").raise_if_any(CONFIGURATION)
    config = {**defaults("config"), **config}
    catalogue = load_catalogue()
    custom = config["custom"] or {}
    problems = Problems()
    systems = config["systems"]
    config |= {
        "systems": [systems] if isinstance(systems, str) else systems,
        "datasets": chosen_names(config, catalogue, problems),
    }
    systems = make_systems(custom.get("systems") or {}, catalogue.systems, "custom.systems", problems)
    problems.raise_if_any(CONFIGURATION)  # of variants, which are no systems then
    check_own_datasets(custom.get("datasets") or {}, problems)
    rows = {name: custom_dataset(name, entry) for name, entry in (custom.get("datasets") or {}).items()}
    check_names(config, catalogue, systems, rows, problems)
    check_baseline(config, problems)
    problems.raise_if_any(CONFIGURATION)
    all_rows = {**catalogue.known_datasets, **rows}
    chosen = [] if config["datasets"] == "all" else config["datasets"]
    all_rows |= {name: corpora for name in chosen if (corpora := corpora_named(name, all_rows))}
    all_systems = {**catalogue.systems, **systems}
    evaluated = [corpus for row in chosen or catalogue.datasets for corpus in all_rows[row]]
    all_rows |= tuning_rows([(name, corpus) for name in config["systems"] for corpus in evaluated], all_systems, all_rows)
    experiment = Experiment(
        config=config,
        catalogue=catalogue,
        systems=all_systems,
        rows=all_rows,
        datasets={dataset.name: dataset for datasets in all_rows.values() for dataset in datasets},
    )
    check_combinations(experiment, problems)
    problems.raise_if_any(CONFIGURATION)
    return experiment
