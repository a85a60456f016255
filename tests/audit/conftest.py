"""Results that tests forge: made once, shared file by file, and in the end as they were."""

from pathlib import Path

import pytest

from forger import Forger
from results_maker import Made, make_results
from results_of_families import families_config
from shared_folders import shared_results


@pytest.fixture
def elsewhere(forger: Forger) -> Forger:
    """The same, audited where neither sources nor models are known."""
    return Forger(forger.results)


@pytest.fixture(scope="session")
def original_of_families(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return shared_results(tmp_path_factory, "families", lambda folder: make_results(folder / "results", families_config(folder)))


@pytest.fixture
def families(original_of_families: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_of_families, tmp_path)
