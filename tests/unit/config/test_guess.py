"""Estimates for machines elsewhere, by the formula."""

import re
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.datasets import corpus_size
from beirflow.config.estimate import estimate
from beirflow.config.expected_cost import measured_rates, parts_of
from beirflow.config.experiment import Experiment
from beirflow.config.guess import device_named, guessed_seconds, machine_named
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.run.overall import START, duration

PARAMETERS = 1.1e8  # of BERT base, where the model is not here


def seconds_on(experiment: Experiment, results: Path, on: str) -> float:
    """The guess for all systems of an experiment on a machine elsewhere."""
    sizes = {name: corpus_size(experiment, results, name) for names in experiment.needed_rows.values() for name in names}
    rates = {system: measured_rates(experiment, results, system) for system in experiment.needed_systems}
    device = device_named(on, experiment)
    return sum(
        guessed_seconds(experiment, part, sizes[part.corpus], device) for part in parts_of(experiment, results, sizes, rates)
    )


@pytest.mark.parametrize(
    ("precision", "on", "peak", "bandwidth", "count"),
    [
        ("auto", "H200", 989e12, 4.8, 1),
        ("auto", "h100", 989e12, 3.35, 1),
        ("bfloat16", "4xH100", 989e12, 3.35, 4),
        ("auto", "4 x NVIDIA H100", 989e12, 3.35, 4),
        ("auto", "4 H100", 989e12, 3.35, 4),
        ("auto", "12×A100", 312e12, 2.04, 6),  # no more than there are chunks
        ("float32", "A100", 19.5e12, 2.04, 1),
        ("auto", "2xL4", 121e12, 0.3, 2),
        ("auto", "rtx4090", 165e12, 1.01, 1),
        ("auto", "T4", 8.1e12, 0.3, 1),  # has no bfloat16, so that auto is float32
        ("bfloat16", "Tesla T4", 8.1e12, 0.3, 1),
        ("float16", "T4", 65e12, 0.3, 1),
    ],
)
def test_the_guess_follows_the_data_sheet_the_precision_and_the_number_of_gpus(
    tmp_path: Path, precision: str, on: str, peak: float, bandwidth: float, count: int
) -> None:
    experiment = load_experiment({"systems": "contriever", "datasets": "nq", "precision": precision})
    size = corpus_size(experiment, tmp_path, "nq")
    assert size.chunks == 6
    (part,) = parts_of(experiment, tmp_path, {"nq": size}, {"contriever": measured_rates(experiment, tmp_path, "contriever")})
    assert part.tokens
    encoded = 2 * PARAMETERS * part.tokens / (0.22 * peak)
    searched = 1.071 / (10_000 * 500_000) * 4.8 / bandwidth * size.queries * size.documents  # measured on an H200
    expected = (encoded + searched) / count + part.jobs * START
    assert seconds_on(experiment, tmp_path, on) == pytest.approx(expected, rel=0.02)


def test_late_interaction_takes_as_long_on_an_h200_as_was_measured(tmp_path: Path) -> None:
    config = {"systems": "colbertv2", "datasets": "msmarco"}
    experiment = load_experiment(config)
    size = corpus_size(experiment, tmp_path, "msmarco")
    (part,) = parts_of(experiment, tmp_path, {"msmarco": size}, {"colbertv2": measured_rates(experiment, tmp_path, "colbertv2")})
    encoded = 2 * PARAMETERS * (part.tokens or 0.0) / (0.22 * 989e12)
    searched = seconds_on(experiment, tmp_path, "H200") - encoded - part.jobs * START
    assert searched == pytest.approx(20.9 * 60, rel=0.05)  # docs/gpus.md


def test_cores_elsewhere_encode_in_proportion_and_leave_lexical_systems_as_they_are(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "contriever", "datasets": "scifact"})
    (part,) = parts_of(
        experiment,
        tmp_path,
        {"scifact": (size := corpus_size(experiment, tmp_path, "scifact"))},
        {"contriever": measured_rates(experiment, tmp_path, "contriever")},
    )
    encoded = 2 * PARAMETERS * (part.tokens or 0.0) / 1.5e11
    rest = 2e-9 * size.queries * size.documents + part.jobs * START
    assert seconds_on(experiment, tmp_path, "cpu:16") == pytest.approx(encoded / 16 + rest)
    assert seconds_on(experiment, tmp_path, "CPU:2") == pytest.approx(encoded / 2 + rest)
    bm25 = load_experiment({"systems": "bm25", "datasets": "scifact"})
    assert seconds_on(bm25, tmp_path, "8xH100") == pytest.approx(seconds_on(bm25, tmp_path, "cpu:2"))


def test_an_estimate_elsewhere_has_nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (1e4, 0.0, 0.0))
    monkeypatch.setattr("beirflow.config.estimate._free", lambda results: 1)
    config: dict[str, Any] = {"systems": ["bm25", "contriever"], "datasets": "nq", "prices": {"hour": 3600.0}}
    experiment = load_experiment(config)
    text = estimate(experiment=experiment, results=tmp_path, configured=" --configfile my.yaml", on="4xH100")
    seconds = seconds_on(experiment, tmp_path, "4xH100")
    assert f"Time: {duration(seconds)} on 4 × H100, one system after another on each dataset, without downloads, " in text
    assert "All of it is a guess: by parameters, tokens and 218 TFLOP/s and 3.4 TB/s, from its data sheet" in text
    assert f"Bill: time {seconds:,.2f}" in text
    # Two jobs share a GPU with so much memory.
    assert f"snakemake --cores all --configfile my.yaml --resources gpu=8 -- {tmp_path}/summary.csv" in text
    assert not re.search("busy|this machine|free here|FIT|To measure", text)
    here = estimate(experiment=experiment, results=tmp_path)
    assert all(each in here for each in ("busy", "on this machine", "free here", "To measure"))


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("4xH10", "did you mean 'H100'"),
        ("4xTPU", "known are H200, H100, A100"),
        ("cpu", "cpu:16"),
        ("cpu:0", "cpu:16"),
        ("0xH100", "4xH100"),
        ("", "4xH100"),
    ],
)
def test_unknown_hardware_is_refused_with_the_known_names(on: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        machine_named(on)
    assert repr(on) in str(refused.value)
    assert said in str(refused.value)


def test_a_gpu_is_refused_where_the_configuration_uses_none() -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact", "device": "cpu"})
    with pytest.raises(ConfigError, match="device: cpu; set device: auto"):
        device_named("H100", experiment)
    assert device_named("cpu:4", experiment).name == "a CPU with 4 cores"
