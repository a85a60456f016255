"""The installed package runs its workflow from any folder, without the packages of models too."""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml

from beirflow.config.checks import OF_MODEL_CODE
from installation import REPOSITORY, Environment, build

CONFIG = {
    "systems": ["bm25"],
    "datasets": ["kitchen"],
    "top_k": 20,
    "cutoffs": [1, 10],
    "custom": {"datasets": {"kitchen": {"path": str(REPOSITORY / "tests/data/demo/kitchen")}}},
}
BM25_ON_KITCHEN = 0.5524  # NDCG@10, as in the README's table of families


def from_wheel(environment: Environment, folder: Path) -> None:
    build(REPOSITORY, folder, "wheel")
    environment.install(*map(str, folder.glob("*.whl")))


def from_source_archive(environment: Environment, folder: Path) -> None:
    build(REPOSITORY, folder, "sdist")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder)  # noqa: S202 (our own)
    build(next(folder.glob("*/pyproject.toml")).parent, folder, "wheel")
    environment.install(*map(str, folder.glob("*.whl")))


def from_folder(environment: Environment, folder: Path) -> None:
    environment.install(str(REPOSITORY))


def editable(environment: Environment, folder: Path) -> None:
    environment.install("--editable", str(REPOSITORY))


def unpacked(environment: Environment, folder: Path) -> None:
    """Leave the source archive where it is unpacked, where no link is."""
    build(REPOSITORY, folder, "sdist")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder)  # noqa: S202 (our own)
    environment.install("--editable", str(next(folder.glob("*/pyproject.toml")).parent))


def run_bm25(environment: Environment, folder: Path, *targets: str) -> None:
    """Evaluate BM25 in an empty folder whose path has a blank."""
    folder.mkdir()
    (folder / "my.yaml").write_text(yaml.safe_dump(CONFIG))
    done = environment.snakemake(folder, "--configfile", "my.yaml", "--", "results/summary.csv", *targets)
    assert done.returncode == 0, done.stdout + done.stderr
    (score,) = pd.read_csv(folder / "results/summary.csv")["NDCG@10"]
    assert round(score, 4) == BM25_ON_KITCHEN


def audit(environment: Environment, folder: Path) -> str:
    """Return what an audit of the results in a folder prints."""
    done = environment.snakemake(folder, "--configfile", "my.yaml", "--", "audit")
    return done.stdout + done.stderr


def test_a_wheel_evaluates_bm25_without_the_packages_of_models(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    from_wheel(environment, tmp_path)
    environment.borrow(*OF_MODEL_CODE)
    run_bm25(environment, tmp_path / "an empty folder")


def test_the_core_without_extensions_evaluates_reports_and_audits(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    from_wheel(environment, tmp_path)
    environment.borrow()
    with_them, folder = tmp_path / "a folder of all", tmp_path / "an empty folder"
    run_bm25(environment, with_them, "results/report.html")
    shutil.rmtree(environment.site_packages / "beirflow/extensions")
    run_bm25(environment, folder, "results/report.html")
    assert "The audit of results passed" in audit(environment, folder)
    # Files, columns and keys of the others are named as not checked.
    assert "The audit of results passed" in audit(environment, with_them)


@pytest.mark.long
@pytest.mark.parametrize("install", [from_wheel, from_source_archive, from_folder, editable, unpacked])
def test_every_installation_writes_summary_and_report(install: Callable[[Environment, Path], None], tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    install(environment, tmp_path)
    environment.borrow()
    run_bm25(environment, tmp_path / "an empty folder", "results/report.html")
    place = Path(environment.ask("import beirflow; print(beirflow.__path__[0])", tmp_path))
    assert place.is_relative_to(environment.site_packages) == (install not in (editable, unpacked))
    assert "The audit of results passed" in audit(environment, tmp_path / "an empty folder")


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_a_wheel_with_all_that_it_requires_runs_on_every_python(version: str, tmp_path: Path) -> None:
    """From the index, in the newest versions that the ranges allow; without models."""
    found = shutil.which(f"python{version}") or next(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), None)
    if found is None:
        pytest.skip(f"Python {version} is not installed here")
    environment = Environment(tmp_path / "environment", str(found))
    build(REPOSITORY, tmp_path, "wheel")
    environment.install(*map(str, tmp_path.glob("*.whl")), options=("--quiet", "--disable-pip-version-check"))
    assert not list(environment.site_packages.glob("torch"))
    run_bm25(environment, tmp_path / "an empty folder", "results/report.html")


def write_workflow(folder: Path, version: str) -> Path:
    """Write what is left of a workflow that was copied without its package."""
    shutil.copytree(REPOSITORY / "workflow", folder / "workflow")
    snakefile = folder / "workflow/Snakefile"
    snakefile.write_text(snakefile.read_text().replace('"0.1.0"', f'"{version}"', 1))
    return snakefile


@pytest.mark.long
def test_a_workflow_of_another_version_stops_in_one_sentence(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    snakefile = write_workflow(tmp_path / "copy", "9.9.9")
    environment.borrow()
    command = ["-m", "snakemake", "--snakefile", str(snakefile), "--cores", "1", "--config", "systems=bm25", "--", "summary"]
    without = environment.run(command, tmp_path)
    assert "install beirflow 9.9.9 for this Python" in without.stderr
    from_wheel(environment, tmp_path)
    other = environment.run(command, tmp_path)
    for done in (without, other):
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
    (line,) = [line for line in other.stderr.splitlines() if "9.9.9" in line]
    assert f"has imported beirflow 0.1.0 from {environment.site_packages}" in line
    assert f"{environment.site_packages}/beirflow/workflow/Snakefile" in line


def test_the_executor_for_slurm_is_a_distribution_of_its_own_that_needs_no_beirflow(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    build(REPOSITORY / "plugins/slurm", tmp_path, "wheel")
    environment.install(*map(str, tmp_path.glob("*.whl")))
    environment.borrow("beirflow")
    place = environment.ask("import snakemake_executor_plugin_beirflow_slurm as plugin; print(plugin.__path__[0])", tmp_path)
    assert Path(place).is_relative_to(environment.site_packages)
    assert "--beirflow-slurm-array-limit" in environment.run(["-m", "snakemake", "--help"], tmp_path).stdout
