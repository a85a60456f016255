"""A real SLURM for the tests of the profile."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurm_cluster import PROGRAMS_OF_ACCOUNTING, Cluster, missing_programs
from workflow_runs import Workflow


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Several nodes, up and idle; skips where SLURM, the plugin or the right to start daemons is missing."""
    yield from _started()


@pytest.fixture(scope="session")
def accounting_cluster() -> Iterator[Cluster]:
    """Another one, with accounting; skips where there is no MariaDB or slurmdbd too."""
    if missing := missing_programs(PROGRAMS_OF_ACCOUNTING):
        pytest.skip(f"no {', '.join(missing)}: apt-get install slurmdbd mariadb-server-core mariadb-client-core")
    yield from _started(accounting=True)


def _started(*, accounting: bool = False) -> Iterator[Cluster]:
    if missing := missing_programs():
        pytest.skip(f"no {', '.join(missing)}: apt-get install slurm-wlm munge")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("no plug-in of Snakemake for SLURM: pip install -r envs/requirements-slurm.txt")
    if os.geteuid() != 0:
        pytest.skip("starting SLURM's daemons needs root")
    # Not pytest's folder: the path of a socket has at most 107 characters.
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="slurm-")), accounting=accounting)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)


@pytest.fixture
def on_cluster(cluster: Cluster, finished_lexical: Workflow) -> Iterator[Workflow]:
    """A copy of a finished local run, whose commands find the cluster; nothing runs there afterwards."""
    finished_lexical.submit_to(cluster.environment)
    yield finished_lexical
    cluster.restore()


@pytest.fixture
def on_accounting_cluster(accounting_cluster: Cluster, finished_lexical: Workflow) -> Iterator[Workflow]:
    """A copy of the finished local run of BM25, whose commands find the cluster with accounting."""
    finished_lexical.submit_to(accounting_cluster.environment)
    yield finished_lexical
    accounting_cluster.restore()
