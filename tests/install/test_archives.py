"""The archives: each holds one workflow, as files, with what the workflow needs beside it, and nothing else."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

from installation import REPOSITORY, build

ENVIRONMENTS = {f"envs/{name}.yaml" for name in ("audit", "data", "encode", "report")}
OF_WHEEL = {*ENVIRONMENTS, "config/config.yaml", "envs/requirements.txt", "envs/requirements-torch.txt"}
AT_ROOT = {"CITATION.cff", "LICENSE", "README.md", "Snakefile", "codemeta.json", "config.yaml", "pyproject.toml"}
LINKS = {"src/beirflow/workflow", "src/beirflow/extensions"}


def tracked(*folders: str) -> set[str]:
    """Return the files of folders of this repository that git knows, but for links and tests of extensions."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.splitlines() if name not in LINKS and "/tests/" not in name}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_has_the_code_one_workflow_and_the_extensions(archives: Path) -> None:
    held = contents(next(archives.glob("beirflow-*.whl")))
    expected = {f"beirflow/{name}": name for name in tracked("workflow", "extensions") | OF_WHEEL}
    expected |= {name.removeprefix("src/"): name for name in tracked("src")}
    assert {name for name in held if ".dist-info/" not in name} == {*expected}
    assert [name for name, source in expected.items() if held[name] != (REPOSITORY / source).read_bytes()] == []
    assert sum(map(len, held.values())) < 4_000_000


def test_a_source_archive_has_the_same_one_workflow_and_makes_the_same_wheel(archives: Path, tmp_path: Path) -> None:
    with tarfile.open(next(archives.glob("beirflow-*.tar.gz"))) as archive:
        archive.extractall(tmp_path)  # noqa: S202 (our own)
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert names - {"PKG-INFO", ".gitignore"} == tracked("src", "workflow", "extensions", "envs", "config") | AT_ROOT
    build(next(tmp_path.glob("beirflow-*")), tmp_path)
    assert contents(next(tmp_path.glob("*.whl"))) == contents(next(archives.glob("beirflow-*.whl")))
