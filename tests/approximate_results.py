"""Results of approximate systems beside those of the dense systems of a folder, by the rules that make them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files import layout
from results_maker import Config, run_rules

HNSW = {"approximate": "second", "index": "hnsw", "m": 4, "ef_construction": 20, "ef_search": [6, 12]}
IVF_FLAT = {"approximate": "second", "index": "ivf-flat", "nlist": 4, "nprobe": 2}
IVF_PQ = {"approximate": "second", "index": "ivf-pq", "nlist": 3, "m": 8, "bits": 3, "nprobe": 2}
SQ = {"approximate": "second", "index": "sq", "bits": 4}
KINDS = {"hnsw": HNSW, "flat": IVF_FLAT, "pq": IVF_PQ, "sq": SQ}


def with_systems(config: Config, own: Mapping[str, Mapping[str, Any]], **changes: Any) -> Config:
    """A configuration with more systems."""
    custom = config["custom"]
    systems = {"systems": [*config["systems"], *own], "custom": {**custom, "systems": {**custom["systems"], **own}}}
    return {**config, **systems, **changes}


def make_approximate(results: Path, config: Config, system: str, dataset: str = "small", threads: int = 1) -> Experiment:
    """Build the index of a system, unless it is there, and search it."""
    experiment = load_experiment(config)
    run_rules(results, experiment, [layout.RUN(system=system, dataset=dataset)], threads)
    return experiment
