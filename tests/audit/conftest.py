"""Results that tests forge: made once, shared file by file, and in the end as they were."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beirflow.core.digests import file_digest
from forger import Forger
from made_once import results_made_once
from results_maker import Made, make_paper, make_report, make_results
from results_of_families import families_config
from results_of_runs import make_results_of_runs


def _guarded(made: Made) -> Iterator[Made]:
    before = {path: file_digest(path) for path in made.results.rglob("*") if path.is_file()}
    yield made
    assert {path: file_digest(path) for path in made.results.rglob("*") if path.is_file()} == before


@pytest.fixture(scope="session")
def original_report(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The same with a report."""

    def make(folder: Path) -> Made:
        forger = Forger.of(results_once, folder)
        make_report(forger.results, forger.experiment)
        return Made(forger.results, results_once.config)

    yield from _guarded(results_made_once(tmp_path_factory, "report", make))


@pytest.fixture(scope="session")
def original_paper(original_report: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The same with the tables of the BEIR paper."""

    def make(folder: Path) -> Made:
        forger = Forger.of(original_report, folder)
        make_paper(forger.results, forger.experiment)
        return Made(forger.results, original_report.config)

    yield from _guarded(results_made_once(tmp_path_factory, "paper", make))


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
    return Forger(forger.results)


@pytest.fixture(scope="session")
def original_of_families(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return results_made_once(
        tmp_path_factory, "families", lambda folder: make_results(folder / "results", families_config(folder))
    )


@pytest.fixture
def families(original_of_families: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_of_families, tmp_path)


@pytest.fixture(scope="session")
def original_of_runs(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return results_made_once(tmp_path_factory, "runs", lambda folder: make_results_of_runs(results_once, folder))


@pytest.fixture
def made_of_runs(original_of_runs: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_of_runs, tmp_path)
