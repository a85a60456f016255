"""Results that tests forge: made once, shared file by file, and in the end as they were."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from beirflow.experiment.load import load_experiment
from beirflow.files.digests import file_digest
from forger import Forger
from results_maker import Made, make_paper, make_report
from results_of_families import families_config, make_families
from results_of_runs import make_results_of_runs


def _guarded(made: Made) -> Iterator[Made]:
    before = {path: file_digest(path) for path in made.results.rglob("*") if path.is_file()}
    yield made
    assert {path: file_digest(path) for path in made.results.rglob("*") if path.is_file()} == before


@pytest.fixture(scope="session")
def original_report(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The same with a report."""
    folder = tmp_path_factory.mktemp("audit")
    forger = Forger.of(results_once, folder)
    make_report(forger.results, forger.experiment)
    yield from _guarded(Made(forger.results, results_once.config))


@pytest.fixture(scope="session")
def original_paper(original_report: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The same with the tables of the BEIR paper."""
    forger = Forger.of(original_report, tmp_path_factory.mktemp("paper"))
    make_paper(forger.results, forger.experiment)
    yield from _guarded(Made(forger.results, original_report.config))


@pytest.fixture(scope="session")
def original(results_once: Made) -> Iterator[Made]:
    """Finished results; a test that changes a file of theirs in place makes the session fail."""
    yield from _guarded(results_once)


@pytest.fixture
def forger(original: Made, tmp_path: Path) -> Forger:
    """Results to forge, audited where sources and models are."""
    return Forger.of(original, tmp_path)


@pytest.fixture
def reported(original_report: Made, tmp_path: Path) -> Forger:
    """The same with a report."""
    return Forger.of(original_report, tmp_path)


@pytest.fixture
def papered(original_paper: Made, tmp_path: Path) -> Forger:
    """The same with the tables of the BEIR paper too."""
    return Forger.of(original_paper, tmp_path)


@pytest.fixture
def elsewhere(forger: Forger) -> Forger:
    """The same, audited where neither sources nor models are known."""
    return Forger(forger.results, load_experiment({}))


@pytest.fixture(scope="session")
def original_of_families(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder, threads = tmp_path_factory.mktemp("families"), torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAYON_NUM_THREADS", "1")
        made = make_families(folder / "results", families_config(folder))
    torch.set_num_threads(threads)
    return made


@pytest.fixture
def families(original_of_families: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_of_families, tmp_path)


@pytest.fixture(scope="session")
def original_of_runs(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_results_of_runs(results_once, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def made_of_runs(original_of_runs: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_of_runs, tmp_path)
