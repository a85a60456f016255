"""The archives: each holds one workflow, as files, with what the workflow needs beside it."""

import tarfile
import zipfile
from pathlib import Path

import pytest

import beirflow
from installation import REPOSITORY, build, tracked

NEEDED = (
    *("workflow/Snakefile", "workflow/rules/common.smk", "workflow/profiles/default/profile.yaml"),
    *("config/config.yaml", "envs/encode.yaml", "envs/requirements.txt", "envs/requirements-torch.txt"),
)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the source archive, the wheel, and in ``again`` the wheel that is made from that archive."""
    folder = tmp_path_factory.mktemp("archives")
    build(REPOSITORY, folder, "sdist", "wheel")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder)  # noqa: S202 (our own)
    build(next(folder.glob("beirflow-*/pyproject.toml")).parent, folder / "again", "wheel")
    return folder


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_has_the_code_and_one_workflow(archives: Path) -> None:
    held = contents(next(archives.glob("*.whl")))
    for name in NEEDED:
        assert held[f"beirflow/{name}"] == (REPOSITORY / name).read_bytes()
    workflow = {name.removeprefix("beirflow/") for name in held if name.startswith("beirflow/workflow/")}
    assert workflow == tracked("workflow")
    extensions = {name.removeprefix("beirflow/") for name in held if name.startswith("beirflow/extensions/")}
    assert extensions == {name for name in tracked("extensions") if "/tests/" not in name}
    code = {name.removeprefix("src/") for name in tracked("src")} - {"beirflow/workflow", "beirflow/extensions"}
    beside = {name for name in held if name.startswith("beirflow/")} - {f"beirflow/{name}" for name in workflow | extensions}
    assert beside - code == {
        *(f"beirflow/envs/{name}.yaml" for name in ("audit", "data", "encode", "report")),
        *("beirflow/config/config.yaml", "beirflow/envs/requirements.txt", "beirflow/envs/requirements-torch.txt"),
    }


def test_a_wheel_that_is_made_from_the_source_archive_is_the_same(archives: Path) -> None:
    assert contents(next((archives / "again").glob("*.whl"))) == contents(next(archives.glob("*.whl")))


def test_the_source_archive_has_one_workflow_and_no_caches(archives: Path) -> None:
    with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers()]
    assert [name for name in names if name.endswith("/Snakefile")] == ["workflow/Snakefile"]
    assert [name for name in names if "__pycache__" in name or name.startswith(("results", ".snakemake", ".venv"))] == []


def test_the_workflow_names_the_version_of_the_package() -> None:
    assert f'"{beirflow.__version__}"\n' in beirflow.SNAKEFILE.read_text()
