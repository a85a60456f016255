"""Guesses at hours: in proportion to documents, parameters and devices, and for what a run will do."""

from pathlib import Path

import pytest

from beirflow.config.datasets import corpus_size
from beirflow.config.families import FAMILIES
from beirflow.config.hours import CORE, RATES, Device, device_named, device_of, job_work, machine_named, seconds_of
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.run.gpus import Gpu
from beirflow.run.overall import START
from workflow_rules import workflow_rules


@pytest.mark.parametrize(
    ("precision", "on", "peak", "bandwidth", "gpus"),
    [
        ("auto", "H200", 989e12, 4.8, 1),
        ("bfloat16", "4xH100", 989e12, 3.35, 4),
        ("auto", "4xh100", 989e12, 3.35, 4),
        ("float32", "12xA100", 19.5e12, 2.04, 12),
        ("auto", "RTX 4090", 165e12, 1.01, 1),
        ("auto", "T4", 8.1e12, 0.3, 1),  # has no bfloat16, so that auto is float32
        ("bfloat16", "t4", 8.1e12, 0.3, 1),
        ("float16", "T4", 65e12, 0.3, 1),
    ],
)
def test_the_guess_follows_the_data_sheet_and_the_precision(
    tmp_path: Path, precision: str, on: str, peak: float, bandwidth: float, gpus: int
) -> None:
    experiment = load_experiment({"systems": "contriever", "datasets": "nq", "precision": precision})
    size, device = corpus_size(experiment, tmp_path, "nq"), device_named(on, experiment)
    assert device.gpus == gpus
    # Two operations for each of the parameters of BERT base and each token, of which a word has 1.3.
    encoded = 2 * 1.1e8 * 1.3 * size.documents * size.words / (0.22 * peak)
    assert seconds_of(experiment, "encode_chunk", "contriever", size, device) == pytest.approx(encoded, rel=0.1)
    searched = 2.1e-10 * 4.8 / bandwidth * size.queries * size.documents  # measured on an H200
    assert seconds_of(experiment, "search_chunk", "contriever", size, device) == pytest.approx(searched)


def test_late_interaction_takes_as_long_on_an_h200_as_was_measured(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "colbertv2", "datasets": "msmarco"})
    size, device = corpus_size(experiment, tmp_path, "msmarco"), device_named("H200", experiment)
    assert seconds_of(experiment, "search_tokens", "colbertv2", size, device) == pytest.approx(
        20.9 * 60, rel=0.05
    )  # tests/bench/results


def test_cores_elsewhere_encode_in_proportion_and_leave_lexical_systems_as_they_are(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": ["contriever", "bm25"], "datasets": "scifact"})
    size = corpus_size(experiment, tmp_path, "scifact")
    few, many = (device_named(f"cpu:{cores}", experiment) for cores in (2, 16))
    for rule, system, ratio in (("encode_chunk", "contriever", 8), ("search_chunk", "contriever", 1), ("index_chunk", "bm25", 1)):
        seconds = [seconds_of(experiment, rule, system, size, device) for device in (few, many)]
        assert seconds[0] == pytest.approx(ratio * seconds[1])


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("4xH10", "did you mean 'H100'"),
        ("4xTPU", "known are H200, H100, A100"),
        ("cpu", "cpu:16"),
        ("cpu:0", "cpu:16"),
        ("", "4xH100"),
    ],
)
def test_unknown_hardware_is_refused_with_the_known_names(on: str, expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        machine_named(on)
    assert repr(on) in str(refused.value)
    assert expected in str(refused.value)


def test_a_gpu_is_refused_where_the_configuration_uses_none() -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact", "device": "cpu"})
    with pytest.raises(ConfigError, match="device: cpu; set device: auto"):
        device_named("H100", experiment)
    assert device_named("cpu:4", experiment).name == "a CPU with 4 cores"


def test_the_device_here_is_a_gpu_by_its_name_unless_the_configuration_uses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, peak in (("NVIDIA L40S", 362e12), ("NVIDIA L4", 121e12), ("Quadro", 125e12)):
        gpu = Gpu(0, name, "GPU-0", "GPU-0", "GPU-0")
        monkeypatch.setattr("beirflow.config.hours.list_gpus", lambda gpu=gpu: [gpu])
        device = device_of(load_experiment({"systems": "contriever"}))
        assert (device.name, device.operations) == (name, pytest.approx(0.22 * peak))
    assert device_of(load_experiment({"systems": "contriever", "device": "cpu"})).name.startswith("this CPU with ")


def test_a_job_is_expected_to_take_what_its_documents_are(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "contriever", "datasets": ["nq", "scifact"]})
    of_chunk = {"system": "contriever", "chunk": "0"}
    jobs = {i: ("encode_chunk", {**of_chunk, "dataset": name}) for i, name in ((1, "nq"), (2, "scifact"))}
    jobs |= {i: (rule, {"dataset": "scifact"}) for i, rule in ((3, "evaluate_run"), (5, "measure_latency"))}
    found = job_work(experiment, tmp_path, jobs | {4: ("summarize", {})})
    assert found[1].documents == 2_681_468 / 6
    assert found[2].documents == 5_183
    assert found[1].seconds > 20 * found[2].seconds > 20 * found[3].seconds
    assert (found[3].evaluates, found[3].documents, found[4].seconds) == (True, 0, START)
    assert found[5].seconds == 60 + START


def test_a_record_that_cannot_be_read_stops_no_run(tmp_path: Path) -> None:
    record = tmp_path / "corpora/scifact/corpus.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact"})
    assert job_work(experiment, tmp_path, {1: ("index_chunk", {"dataset": "scifact", "chunk": "0"})})[1].documents == 5_183


def test_a_training_is_expected_to_take_what_its_documents_are_at_most_those_that_are_drawn(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": ["nq", "scifact"]})
    jobs = {i: ("train_encoder", {"system": "genq", "dataset": name}) for i, name in enumerate(("nq", "scifact"))}
    found = job_work(experiment, tmp_path, jobs)
    assert 100_000 * 2 * CORE / device_of(experiment).operations > found[0].seconds > 5 * found[1].seconds > 100


CHUNKED = {
    name: stage for name, family in FAMILIES.items() for stage in family.stages if stage.represents and "chunk" in stage.wildcards
}


@pytest.mark.parametrize("name", CHUNKED)
def test_progress_counts_the_documents_and_the_time_of_every_family_that_stores_chunks(tmp_path: Path, name: str) -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": ["nq", "scifact"]})
    jobs = {i: (CHUNKED[name].rule, {"dataset": dataset, "chunk": "0"}) for i, dataset in enumerate(("nq", "scifact"))}
    large, small = job_work(experiment, tmp_path, jobs).values()
    assert (large.documents, small.documents) == (2_681_468 / 6, 5_183)
    assert large.seconds > small.seconds > START


def test_every_rate_is_of_a_rule_and_every_family_has_some() -> None:
    assert set(RATES) <= set(workflow_rules())
    for family in FAMILIES.values():
        assert {stage.rule for stage in family.stages} & set(RATES), family.name
        slow = [stage.rule for stage in family.stages if stage.gpu or stage.represents]
        assert set(slow) <= set(RATES), family.name


def test_jobs_on_two_cores_take_what_the_table_has(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "doct5query-t5-base", "datasets": "scifact"})
    size, device = corpus_size(experiment, tmp_path, "scifact"), Device("two cores", 2 * CORE)
    written = seconds_of(experiment, "write_queries", "doct5query-t5-base", size, device)
    assert written == pytest.approx(RATES["write_queries"].seconds * size.documents * size.words)
