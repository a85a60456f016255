"""The tutorial, typed as it stands on its page: every command runs, and the page shows the numbers that they print."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from workflow_runs import REPOSITORY

TEXT = (REPOSITORY / "docs/tutorial.md").read_text()
TAKES_MINUTES = "beirflow run my.yaml choice"  # measures latencies
TYPED = [line for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL) for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parent of the reader's folder, with the files of the tutorial at their place."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(REPOSITORY / "docs/tutorial", folder / "docs/tutorial")
    return folder


@pytest.fixture(scope="module")
def typed(folder: Path) -> dict[str, str]:
    """By command, what it printed; each is typed where the one before left the shell."""
    place, printed = folder, {}
    for command in TYPED:
        if command.startswith("cd "):
            place /= command.removeprefix("cd ")
        elif command != TAKES_MINUTES:
            printed[command] = type_in(place, command)
    return printed


def type_in(place: Path, command: str) -> str:
    """Run a command in the shell of a reader whose environment is this one; return what it printed."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(command, shell=True, cwd=place, env=environment, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_the_page_shows_the_configuration_of_the_folder() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    lines = (REPOSITORY / "docs/tutorial/my.yaml").read_text().splitlines()
    assert block.splitlines() == [line for line in lines if not line.startswith("#")]


def test_every_command_runs_and_prints_the_scores_of_the_page(typed: dict[str, str]) -> None:
    assert list(typed)[-1] == "beirflow audit my.yaml"
    printed = [line.split() for line in typed["beirflow run my.yaml"].splitlines()]
    (shown,) = re.findall(r"^faq \(test\)(?:.*\n)+?(?=```)", TEXT, re.MULTILINE)
    about, header, *rows = [line.split() for line in shown.splitlines()]
    start = printed.index(about)
    for row, (system, *numbers) in zip(rows, printed[start + 2 : start + 5], strict=True):
        of = dict(
            zip([name for name in printed[start + 1] if name != "precision"], [n for n in numbers if n != "float32"], strict=True)
        )
        assert row == [system, *(of[name] for name in header)]
    assert " passed" in typed["beirflow audit my.yaml"]


def test_the_code_prints_what_the_page_shows(folder: Path, typed: dict[str, str]) -> None:
    assert typed
    ((code, shown),) = re.findall(r"^```python\n(.*?)^```\n+```\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (folder / "read.py").write_text(code)
    printed = type_in(folder / "my-faq", "python ../read.py")
    assert printed.split() == shown.split()


@pytest.mark.long
def test_the_choice_is_written(folder: Path, typed: dict[str, str]) -> None:
    assert TAKES_MINUTES in TYPED
    type_in(folder / "my-faq", TAKES_MINUTES)
    assert (folder / "my-faq/results/choice.html").is_file()
