"""A task of a SLURM array runs its own command."""

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from snakemake_executor_plugin_beirflow_slurm import array_task
from snakemake_executor_plugin_beirflow_slurm.array_task import FAILED, NOTE, OPTION, own_command


def words(commands: dict[str, str]) -> list[str]:
    """A command line as the plugin writes it."""
    packed = {task: zlib.compress(command.encode()).hex() for task, command in commands.items()}
    return ["snakemake", OPTION + base64.b64encode(json.dumps(packed).encode()).decode()]


@pytest.mark.parametrize(("task", "printed"), [("1", "one"), ("2", "two"), ("3", "three"), (None, "one")])
def test_every_task_runs_its_own_command_and_ends_as_that_ends(task: str | None, printed: str) -> None:
    first = [sys.executable, "-c", "print('one'); exit(7)", *words({"2": "echo two; exit 7", "3": "echo three; exit 7"})[1:]]
    done = subprocess.run(
        [sys.executable, "-IS", array_task.__file__, *first],
        env={} if task is None else {"SLURM_ARRAY_TASK_ID": task},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, f"{printed}\n")
    plain = ["snakemake", "--cores", "2"]  # a job that is no task of an array
    assert own_command(plain, {"SLURM_ARRAY_TASK_ID": "2"}) == plain
    assert own_command(words({"2": "two"}), {"SLURM_ARRAY_TASK_ID": "1"}) == ["snakemake"]


def test_a_job_notes_how_it_ended_and_runs_once_more_unless_that_was_well(tmp_path: Path) -> None:
    note, log = tmp_path / "7-1", tmp_path / "log"

    def run(status: int) -> int:
        code = f"open({str(log)!r}, 'a').write('x'); exit({status})"
        command = [sys.executable, "-IS", array_task.__file__, sys.executable, "-c", code, f"{NOTE}{note}"]
        return subprocess.run(command, check=False).returncode

    failure = Path(f"{note}{FAILED}")
    assert (run(3), note.exists(), failure.exists()) == (3, False, True)
    assert (run(0), note.exists(), failure.exists()) == (0, True, False)
    assert (run(5), log.read_text()) == (0, "xx")
    note = tmp_path / "folder of a run that was killed" / "7-1"
    assert run(0) == 0
