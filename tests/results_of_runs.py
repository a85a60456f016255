"""Results of systems that are made from the runs of others, by the rules that make them."""

import shutil
from pathlib import Path
from unittest.mock import patch

from beirflow.config.load import load_experiment
from beirflow.core import layout
from results_maker import Made, run_rules, with_systems

SYSTEMS = {
    "fused": {"family": "fusion", "of": ["tiny", "second"], "method": "rrf"},
    "reranked": {"family": "rerank", "first": "second", "depth": 5, "below": "keep", "model": "tiny"},
}


def make_results_of_runs(original: Made, folder: Path) -> Made:
    """The same results with a fused and a reranked system, for which alone one of the two systems of before is needed."""
    shutil.copytree(original.results, folder / "results")
    made = Made(folder / "results", with_systems(original.config, SYSTEMS, systems=["tiny", *SYSTEMS]))
    results, experiment = made.results, load_experiment(made.config)
    shutil.rmtree(results / "metrics/second")
    with patch("beirflow.config.datasets.BLOCK_QUERIES", 3):  # so that pairs are scored in blocks
        run_rules(results, experiment, [layout.SUMMARY])
    return made
