"""Start every task of a SLURM array as its own job; run as a program, with the command of Snakemake as its arguments.

snakemake-executor-plugin-slurm 2.8.0 starts every task of an array as the job of the first task, and passes the commands of the
others along. A task then runs its own command, but afterwards checks for the output of the first one, and fails if that does not
exist yet (its issue 447). :mod:`.job_start` puts this program before Snakemake. Unnecessary once each task of that plug-in checks
the outputs of its own job.
"""

import base64
import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence

OPTION = "--slurm-jobstep-array-execs="


def own_command(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command of this task of an array, from the command of the first task and the environment of this process.

    The first task, and a job that is no task of an array, keeps the given command, without those of the others.
    """
    encoded = next((word.removeprefix(OPTION) for word in arguments if word.startswith(OPTION)), None)
    packed = json.loads(base64.b64decode(encoded)).get(environment.get("SLURM_ARRAY_TASK_ID")) if encoded else None
    if packed:
        return ["/bin/sh", "-c", zlib.decompress(bytes.fromhex(packed)).decode()]
    return [word for word in arguments if not word.startswith(OPTION)]


if __name__ == "__main__":
    command = own_command(sys.argv[1:], os.environ)
    os.execvp(command[0], command)  # noqa: S606 - a command that the plug-in would run
