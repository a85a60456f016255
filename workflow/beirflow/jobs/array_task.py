"""Let every task of a SLURM array run as itself: a workaround for a bug of the submitting plugin.

snakemake-executor-plugin-slurm 2.8.0 starts every task of an array as the job of the first task, and passes the commands of the
others along. A task then runs its own command, but afterwards checks for the output of the first one, and fails if that does not
exist yet (its issue 447).
"""

import base64
import json
import os
import zlib
from collections.abc import Mapping, Sequence

OPTION = "--slurm-jobstep-array-execs="


def own_command(arguments: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Look up the command of this task of an array.

    Args:
        arguments: Command line of this process.
        environment: Its environment, where SLURM says which task it is.

    Returns:
        The command line for a shell; None in the first task, and in a process that is no such task.
    """
    encoded = next((word.removeprefix(OPTION) for word in arguments if word.startswith(OPTION)), None)
    if encoded is None:
        return None
    command = json.loads(base64.b64decode(encoded)).get(environment.get("SLURM_ARRAY_TASK_ID"))
    return command and zlib.decompress(bytes.fromhex(command)).decode()


def become_own_task(arguments: Sequence[str]) -> None:
    """Replace this process by the command of its own task, if it was started as another one.

    Args:
        arguments: Command line of this process.
    """
    if command := own_command(arguments, os.environ):
        os.execv("/bin/sh", ["sh", "-c", command])  # noqa: S606 - the command that the plugin would run
