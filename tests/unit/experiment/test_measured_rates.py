"""What is expected of the jobs of a run follows from how large their corpora are."""

from pathlib import Path

import pytest
from beirflow.experiment.families import FAMILIES
from beirflow.experiment.load import load_experiment
from beirflow.experiment.measured_rates import STAGES, job_work
from beirflow.jobs.code_version import entrances
from beirflow.jobs.overall import START


def test_a_chunk_is_expected_to_take_what_its_documents_are(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "contriever", "datasets": ["nq", "scifact"]})
    jobs = {
        i: ("encode_chunk", {"system": "contriever", "dataset": name, "chunk": "0"}) for i, name in ((1, "nq"), (2, "scifact"))
    }
    jobs |= {i: (rule, {"dataset": "scifact"}) for i, rule in ((3, "evaluate_run"), (5, "measure_latency"))}
    found = job_work(experiment, tmp_path, jobs | {4: ("summarize", {})})
    assert found[1].documents == 2_681_468 / 6
    assert found[2].documents == 5_183
    assert found[1].seconds > 20 * found[2].seconds > 20 * found[3].seconds
    assert (found[3].evaluates, found[3].documents, found[4].seconds) == (True, 0, 2.0)
    assert found[5].seconds == 62


def test_a_record_that_cannot_be_read_stops_no_run(tmp_path: Path) -> None:
    record = tmp_path / "corpora/scifact/corpus.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact"})
    assert job_work(experiment, tmp_path, {1: ("index_chunk", {"dataset": "scifact"})})[1].documents == 5_183


def test_a_training_is_expected_to_take_what_its_documents_are_at_most_those_that_are_drawn(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": ["nq", "scifact"]})
    jobs = {i: ("train_encoder", {"system": "genq", "dataset": name}) for i, name in enumerate(("nq", "scifact"))}
    found = job_work(experiment, tmp_path, jobs)
    assert found[0].seconds > 5 * found[1].seconds > 100
    assert found[0].seconds < 100_000


CHUNKED = {name: family for name, family in FAMILIES.items() if family.represents}


@pytest.mark.parametrize("name", CHUNKED)
def test_progress_counts_the_documents_and_the_time_of_every_family_that_stores_chunks(tmp_path: Path, name: str) -> None:
    family = CHUNKED[name]
    assert family.searches
    experiment = load_experiment({"systems": "bm25", "datasets": ["nq", "scifact"]})
    rules = [family.represents.rule, family.searches.rule]
    jobs = {2 * i + j: (rule, {"dataset": name}) for i, rule in enumerate(rules) for j, name in enumerate(("nq", "scifact"))}
    large, small, large_search, small_search = (job_work(experiment, tmp_path, jobs)[number] for number in range(4))
    assert (large.documents, small.documents) == (2_681_468 / 6, 5_183)
    assert large.seconds > small.seconds > START
    assert large_search.seconds > small_search.seconds > START
    assert large_search.documents == 0


def test_every_stage_is_a_rule() -> None:
    assert set(STAGES) <= set(entrances())
