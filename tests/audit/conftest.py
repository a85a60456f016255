"""Results that tests forge: made once, shared file by file, and in the end as they were."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from forger import Forger
from made_once import guarded, results_made_once
from results_maker import Made, make_paper, make_results
from results_of_families import families_config
from results_of_runs import make_results_of_runs


@pytest.fixture(scope="session")
def original_paper(original_report: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The results with a report, and with the tables of the BEIR paper."""

    def make(folder: Path) -> Made:
        forger = Forger.of(original_report, folder)
        make_paper(forger.results, forger.experiment)
        return Made(forger.results, original_report.config)

    yield from guarded(results_made_once(tmp_path_factory, "paper", make))


@pytest.fixture
def papered(original_paper: Made, tmp_path: Path) -> Forger:
    """The same to forge."""
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
