"""Make results by the rules of one checkout, in this process: ``make.py CONFIGURATION RESULTS TARGET...``.

Only ``results_maker``, of the tests of that checkout, knows where its packages lie.
"""

import shutil
import sys
from pathlib import Path

import yaml

from results_maker import load_experiment, run_rules

if __name__ == "__main__":
    config, results, *targets = sys.argv[1:]
    run_rules(Path(results), load_experiment(yaml.safe_load(Path(config).read_text())), targets)
    shutil.rmtree(Path(results, "candidates"), ignore_errors=True)  # which Snakemake deletes once the runs are merged
