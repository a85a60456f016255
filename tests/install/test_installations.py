"""The installed package runs its workflow from any folder, without the packages of models too."""

import re
import shutil
import tarfile
from pathlib import Path

import pandas as pd
import pytest
import yaml

import beirflow
from beirflow.config.checks import MODULES
from installation import REPOSITORY, Done, Environment

CONFIG = {
    "systems": ["bm25"],
    "datasets": ["kitchen"],
    "top_k": 20,
    "cutoffs": [1, 10],
    "custom": {"datasets": {"kitchen": {"path": str(REPOSITORY / "tests/data/demo/kitchen")}}},
}
BM25_ON_KITCHEN = 0.5524  # NDCG@10, as in the README's table of families


@pytest.fixture
def environment(archives: Path, tmp_path: Path) -> Environment:
    """An environment with the wheel alone."""
    environment = Environment(tmp_path / "environment")
    environment.install(*map(str, archives.glob("beirflow-*.whl")))
    return environment


def command(environment: Environment, folder: Path, *arguments: str) -> Done:
    return environment.run(folder, "python", "-m", "beirflow.cli", *arguments)


def run_bm25(environment: Environment, folder: Path, *targets: str) -> None:
    """Evaluate BM25 in an empty folder."""
    folder.mkdir()
    (folder / "my.yaml").write_text(yaml.safe_dump(CONFIG))
    done = command(environment, folder, "run", "my.yaml", "summary", *targets, "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    (score,) = pd.read_csv(folder / "results/summary.csv")["NDCG@10"]
    assert round(score, 4) == BM25_ON_KITCHEN


def test_a_wheel_evaluates_bm25_without_the_packages_of_models(environment: Environment, tmp_path: Path) -> None:
    environment.borrow(*MODULES["models"])
    assert environment.run(tmp_path, "beirflow", "--version").stdout == f"beirflow {beirflow.__version__}\n"
    run_bm25(environment, tmp_path / "an empty folder")


def test_the_core_without_extensions_evaluates_reports_and_audits(environment: Environment, tmp_path: Path) -> None:
    environment.borrow()
    with_them, folder = tmp_path / "a folder of all", tmp_path / "an empty folder"
    run_bm25(environment, with_them, "report")
    shutil.rmtree(environment.site_packages / "beirflow/extensions")
    run_bm25(environment, folder, "report")
    # Files, columns and keys of extensions that are not here are named as not checked.
    for each in (folder, with_them):
        assert "The audit of results passed" in command(environment, each, "audit", "my.yaml").stdout


@pytest.mark.long
def test_an_unpacked_source_archive_which_has_no_links_runs_where_it_lies(archives: Path, tmp_path: Path) -> None:
    with tarfile.open(next(archives.glob("beirflow-*.tar.gz"))) as archive:
        archive.extractall(tmp_path)  # noqa: S202 (our own)
    environment = Environment(tmp_path / "environment")
    environment.borrow()
    (environment.site_packages / "_first.pth").write_text(str(next(tmp_path.glob("beirflow-*/src"))))
    run_bm25(environment, tmp_path / "an empty folder", "report")
    place = environment.run(tmp_path, "python", "-c", "import beirflow; print(beirflow.__file__)").stdout
    assert place.startswith(f"{tmp_path}/beirflow-")


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_a_wheel_with_all_that_it_requires_runs_on_every_python(version: str, archives: Path, tmp_path: Path) -> None:
    """From the index, in the newest versions that the ranges allow; without models."""
    found = shutil.which(f"python{version}") or next(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), None)
    if found is None:
        pytest.skip(f"Python {version} is not installed here")
    environment = Environment(tmp_path / "environment", str(found))
    environment.install(*map(str, archives.glob("beirflow-*.whl")), options=("--quiet", "--disable-pip-version-check"))
    assert not list(environment.site_packages.glob("torch"))
    run_bm25(environment, tmp_path / "an empty folder", "report")


@pytest.mark.long
def test_a_workflow_of_another_version_stops_in_one_sentence(environment: Environment, tmp_path: Path) -> None:
    snakefile = tmp_path / "copy/workflow/Snakefile"
    shutil.copytree(REPOSITORY / "workflow", snakefile.parent)
    snakefile.write_text(snakefile.read_text().replace(f'"{beirflow.__version__}"', '"9.9.9"', 1))
    arguments = ("-m", "snakemake", "--snakefile", str(snakefile), "--cores", "1", "--config", "systems=bm25", "--", "summary")
    environment.borrow()
    other = environment.run(tmp_path, "python", *arguments)
    shutil.rmtree(environment.site_packages / "beirflow")
    without = environment.run(tmp_path, "python", *arguments)
    assert "install beirflow 9.9.9 for this Python" in without.stderr
    for done in (without, other):
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
    (line,) = [line for line in other.stderr.splitlines() if "9.9.9" in line]
    assert f"has imported beirflow {beirflow.__version__} from {environment.site_packages}" in line
    assert f"{environment.site_packages}/beirflow/workflow/Snakefile" in line


def test_the_executor_for_slurm_is_a_distribution_of_its_own_that_needs_no_beirflow(archives: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    environment.install(*map(str, archives.glob("snakemake_executor_*.whl")))
    environment.borrow()
    assert "--beirflow-slurm-array-limit" in environment.run(tmp_path, "python", "-m", "snakemake", "--help").stdout


def test_the_image_installs_the_wheel_beside_its_pins_and_starts_its_command(archives: Path, tmp_path: Path) -> None:
    """The commands of the Dockerfile behind the pins, where these are installed: tests have no daemon of Docker."""
    text = (REPOSITORY / "Dockerfile").read_text()
    (install,) = re.findall(r"^RUN (.* --find-links dist .*)$", text, re.MULTILINE)
    (version,) = re.findall(r"^ARG VERSION=(.*)$", text, re.MULTILINE)
    (program,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', text, re.MULTILINE)
    (tmp_path / "dist").symlink_to(archives)
    environment = Environment(tmp_path / ".venv")
    environment.borrow()
    pip = environment.bin / "pip"
    pip.write_text(f'#!/bin/sh\nexec "{environment.bin}/python" -m pip "$@"\n')
    pip.chmod(0o755)
    done = environment.run(
        tmp_path, "/bin/sh", "-c", f"VERSION={version} EXTRAS=faiss,onnx,sentence-transformers,slurm; {install}"
    )
    assert done.returncode == 0, done.stderr
    assert environment.run(tmp_path, program, "--version").stdout == f"beirflow {beirflow.__version__}\n"
    assert (environment.site_packages / "snakemake_executor_plugin_beirflow_slurm").is_dir()
