"""A trial: every configured system on a tiny dataset, in results of its own, before hours of work."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow import WORKFLOW
from beirflow.config.configuration import KEYS
from beirflow.config.dependencies import needed
from beirflow.config.experiment import NO_INFLUENCE, Experiment
from beirflow.core.errors import BeirflowError
from beirflow.core.layout import METRICS
from beirflow.core.writing import write_text
from beirflow.run.results_lock import RUN

TRIAL = "try"  # name of the tiny dataset, and of the folder of its results


def try_systems(*, experiment: Experiment, results: Path, snakefile: str, limits: Mapping[str, int]) -> str:
    """Run all configured systems on the tiny dataset, by the workflow itself; return the systems that cannot be tried.

    ``limits`` are cores and GPUs of the run, as Snakemake names them. Raise BeirflowError with the systems that failed; the run
    has printed why, and continued with the others.
    """
    left_out = [name for name in experiment.chosen_systems if not _can_be_tried(experiment, name)]
    tried = [name for name in experiment.chosen_systems if name not in left_out]
    without = f"Not tried, because their files are for other datasets: {', '.join(left_out)}." if left_out else ""
    if not tried:
        return without
    config = Path(results, TRIAL, "config.json")
    made = trial_config(experiment, tried, str(WORKFLOW / "trial"), str(config.parent))
    write_text(config, json.dumps(made))
    scored = {name: config.parent / METRICS(system=name, dataset=TRIAL) for name in tried}
    for path in scored.values():  # of an earlier trial
        path.unlink(missing_ok=True)
    gpus = ["--resources", f"gpu={limits['gpu']}"] if "gpu" in limits else []
    command = [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--cores", str(limits.get("_cores", 1)), *gpus]
    # Without the name of this run, which has other results.
    environment = {name: value for name, value in os.environ.items() if name != RUN}
    command += ["--forceall", "--keep-going", "--configfile", str(config), "--", "summary"]
    if subprocess.run(command, env=environment, check=False).returncode:  # noqa: S603 - this workflow itself
        ended: dict[bool, list[str]] = {True: [], False: []}  # by success
        for name, path in scored.items():
            ended[path.is_file()].append(name)
        fails = f"{', '.join(ended[False]) or 'the summary'} failed; the messages are above"
        raise BeirflowError(f"{fails}. {', '.join(ended[True]) or 'No system'} ran to its scores. {without}".rstrip())
    return f"All systems run on this machine: {', '.join(tried)}. The scores above are those of 24 documents. {without}".rstrip()


def trial_config(experiment: Experiment, systems: list[str], dataset: str, results: str) -> dict[str, Any]:
    """Return the configuration of a trial: the same systems and settings, on the dataset in a folder."""
    own = (experiment.config["custom"] or {}).get("systems") or {}
    others = {
        **{key: KEYS[key] for key in NO_INFLUENCE},
        "sample_queries": None,
        "data_dir": None,
        "extra_judgements": {},
        "baseline": None,
    }
    datasets = {"datasets": [TRIAL], "custom": {"systems": own, "datasets": {TRIAL: {"path": dataset}}}}
    config = {key: value for key, value in experiment.config.items() if key != "pathvars"}
    return {**config, **others, **datasets, "systems": systems, "results": results}


def _can_be_tried(experiment: Experiment, name: str) -> bool:
    """Test whether a system reads no file, and is tuned with no queries, of another dataset, nor any that it is made from."""
    for each in needed([name], experiment.systems):
        family, settings = experiment.family(each), experiment.systems[each].settings
        tuned = family.tuned_on(settings)
        if family.source(settings, TRIAL) or family.given_files(settings, TRIAL) or (tuned and tuned.dataset):
            return False
    return True
