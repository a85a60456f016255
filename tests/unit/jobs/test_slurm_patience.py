"""Commands of SLURM that are called again: scripts in their place say what SLURM says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from beirflow.jobs import slurm_patience
from beirflow.jobs.slurm_patience import TERMINAL

PACKAGE_PATH = str(Path(slurm_patience.__file__).parents[2])
CALL = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from beirflow.jobs import slurm_patience
slurm_patience.PAUSES_SECONDS = (0.01,)
slurm_patience.AWAY_SECONDS = float(sys.argv.pop(1))
slurm_patience.main()
"""
AWAY = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
FULL = """sbatch: error: AssocMaxSubmitJobLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, size and/or time limits)"""


def sbatch(folder: Path, *, fails: int, says: str, waiting: str = "") -> None:
    """A command that fails some times, then prints what it got; and a squeue."""
    script = f"""#!/bin/sh
echo x >> {folder}/calls
if [ $(wc -l < {folder}/calls) -le {fails} ]; then echo "{says}" >&2; exit 1; fi
echo "$@"; cat
"""
    for name, content in (("sbatch", script), ("squeue", f"#!/bin/sh\nprintf '{waiting}'\n")):
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)


def run(folder: Path, *arguments: str, script: str = "", away: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CALL, PACKAGE_PATH, str(away), str(folder / "sbatch"), *arguments],
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", TERMINAL: str(folder / "terminal")},
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines())


@pytest.mark.parametrize("says", [AWAY, FULL], ids=["the controller is away", "too many jobs"])
def test_what_waiting_helps_against_is_waited_for_and_said_once(tmp_path: Path, says: str) -> None:
    sbatch(tmp_path, fails=3, says=says, waiting="7 main job")
    done = run(tmp_path, "--wrap", "a 'b' c")
    assert (done.returncode, done.stdout, done.stderr) == (0, "--wrap a 'b' c\n", "")
    assert calls(tmp_path) == 4
    (line,) = (tmp_path / "terminal").read_text().splitlines()
    assert "sbatch: " in line
    assert says.splitlines()[-1] in line


def test_a_script_reaches_every_attempt(tmp_path: Path) -> None:
    sbatch(tmp_path, fails=1, says=AWAY)
    assert run(tmp_path, "/dev/stdin", script="#!/bin/sh\ntrue\n").stdout == "/dev/stdin\n#!/bin/sh\ntrue\n"


@pytest.mark.parametrize(
    ("says", "away", "expected"),
    [
        ("sbatch: error: invalid partition specified: x", 60, "invalid partition specified: x"),
        (FULL, 60, "more jobs at once than you may submit: lower slurm-array-limit"),
        (AWAY, 0, "Unable to contact slurm controller"),
    ],
    ids=["a mistake", "more than one may ever submit", "a controller that stays away"],
)
def test_what_waiting_does_not_help_against_fails_at_once_with_what_slurm_said(
    tmp_path: Path, says: str, away: float, expected: str
) -> None:
    sbatch(tmp_path, fails=9, says=says)
    done = run(tmp_path, away=away)
    assert (done.returncode, calls(tmp_path)) == (1, 1)
    assert says.splitlines()[0] in done.stderr
    assert expected in done.stderr
    assert not (tmp_path / "terminal").exists()
