"""The archives of a release."""

from pathlib import Path

import pytest

from installation import REPOSITORY, build


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of wheels and source archives of the package and of the executor for SLURM."""
    folder = tmp_path_factory.mktemp("archives")
    for project in (REPOSITORY, REPOSITORY / "plugins/slurm"):
        build(project, folder)
    return folder
