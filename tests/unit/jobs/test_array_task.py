"""A task of a SLURM array runs its own command."""

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from beirflow.jobs.array_task import OPTION, own_command

REPOSITORY = Path(__file__).parents[3]


def words(commands: dict[str, str]) -> list[str]:
    """A command line as the plugin writes it."""
    packed = {task: zlib.compress(command.encode()).hex() for task, command in commands.items()}
    return ["snakemake", OPTION + base64.b64encode(json.dumps(packed).encode()).decode()]


@pytest.mark.parametrize(("task", "command"), [("1", None), ("2", "echo two"), ("3", "echo three"), (None, None)])
def test_every_task_but_the_first_has_a_command_of_its_own(task: str | None, command: str | None) -> None:
    environment = {} if task is None else {"SLURM_ARRAY_TASK_ID": task}
    assert own_command(words({"2": "echo two", "3": "echo three"}), environment) == command


def test_a_job_that_is_no_array_task_has_none() -> None:
    assert own_command(["snakemake", "--cores", "2"], {"SLURM_ARRAY_TASK_ID": "2"}) is None


def test_the_process_becomes_the_command_and_ends_as_it_ends() -> None:
    program = "import sys; from beirflow.jobs.array_task import become_own_task as become; become(sys.argv); exit('not replaced')"
    done = subprocess.run(
        [sys.executable, "-c", program, *words({"2": "echo two; exit 7"})],
        env={"SLURM_ARRAY_TASK_ID": "2", "PYTHONPATH": str(REPOSITORY / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "two\n")
