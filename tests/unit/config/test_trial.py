"""The configuration of a trial: the same systems on the tiny dataset."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.config import trial
from beirflow.config.load import load_experiment
from beirflow.config.systems import catalogue_systems
from beirflow.config.trial import trial_config, try_systems
from beirflow.core.errors import BeirflowError

ROOT = Path(__file__).parents[3]
DATASET = str(ROOT / "workflow/trial")
OWN = {
    "fused": {"family": "fusion", "of": ["bm25", "theirs"]},
    "tuned": {"family": "fusion", "of": ["bm25", "long"], "method": "sum", "weights": {"tune": {"split": "train"}}},
    "long": {"base": "bm25", "k1": 1.5},
}


def test_every_system_of_the_catalogue_can_be_tried_with_its_settings() -> None:
    experiment = load_experiment({})
    names = [name for name in catalogue_systems() if name != "candidates"]
    experiment = load_experiment({"systems": names, "sample_queries": 5, "results": "elsewhere"})
    tried = load_experiment(trial_config(experiment, names, DATASET, "r/try"))
    assert (tried.chosen_systems, tried.chosen_datasets, tried.config["results"]) == (names, ["try"], "r/try")
    assert {name: tried.systems[name] for name in names} == {name: experiment.systems[name] for name in names}


def test_systems_with_files_for_other_datasets_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scifact.trec").write_text("1 Q0 4983 1 1.0 x\n")
    own = {**OWN, "theirs": {"run": str(tmp_path / "{dataset}.trec")}}
    experiment = load_experiment({"systems": [*own], "datasets": "scifact", "custom": {"systems": own}})
    commands: list[Any] = []

    class Ended:
        returncode = 0

    def run(command: list[str], **_: Any) -> Ended:
        commands.append(command)
        return Ended()

    monkeypatch.setattr(trial.subprocess, "run", run)
    arguments: dict[str, Any] = {"results": tmp_path, "snakefile": str(ROOT / "Snakefile"), "limits": {"_cores": 3, "gpu": 2}}
    said = try_systems(experiment=experiment, **arguments)
    assert said.startswith("All systems run on this machine: tuned, long.")
    assert said.endswith("Not tried, because their files are for other datasets: fused, theirs.")
    assert " --cores 3 --resources gpu=2 " in " ".join(commands[0])
    Ended.returncode = 1
    with pytest.raises(
        BeirflowError, match=r"^tuned, long failed; the messages are above\. No system ran to its scores\. Not tried, "
    ):
        try_systems(experiment=experiment, **arguments)
