"""Configuration files of a command line, joined as Snakemake joins them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beirflow.config.experiment import Experiment


def load_files(config_files: Sequence[str]) -> "Experiment":
    """Load the experiment of some configuration files, of which a later one wins. Raises ConfigError for a mistake."""
    from beirflow.config.config_files import check_config_files
    from beirflow.config.load import load_experiment, search_for_classes
    from beirflow.run.undocumented import configuration_of

    check_config_files(config_files)
    config, _ = configuration_of(config_files, {}, [])
    search_for_classes([Path(path).absolute().parent for path in config_files])
    return load_experiment(config, config_files)
