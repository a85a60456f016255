"""A task of a SLURM array runs its own command."""

import base64
import json
import subprocess
import sys
import zlib

import pytest

from snakemake_executor_plugin_beirflow_slurm import array_task
from snakemake_executor_plugin_beirflow_slurm.array_task import OPTION, own_command


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
