"""Start a job, or every task of a SLURM array as its own job, and note how it ended; run with the command of Snakemake.

snakemake-executor-plugin-slurm 2.8.0 starts every task of an array as the job of the first task, and passes the commands of the
others along. A task then runs its own command, but afterwards checks for the output of the first one, and fails if that does not
exist yet (its issue 447). :mod:`.job_start` puts this program before Snakemake. A job that SLURM starts again after it noted that
it ended well ends at once.
"""

import base64
import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

OPTION = "--slurm-jobstep-array-execs="
NOTE = "--beirflow-slurm-note="
FAILED = ".failed"
"""End of the name of a note about a job that failed; its content does not matter."""


def own_command(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command of this task of an array, from the command of the first task and the environment of this process.

    The first task, and a job that is no task of an array, keeps the given command, without those of the others.
    """
    encoded = next((word.removeprefix(OPTION) for word in arguments if word.startswith(OPTION)), None)
    packed = json.loads(base64.b64decode(encoded)).get(environment.get("SLURM_ARRAY_TASK_ID")) if encoded else None
    if packed:
        return ["/bin/sh", "-c", zlib.decompress(bytes.fromhex(packed)).decode()]
    return [word for word in arguments if not word.startswith(OPTION)]


def run_noted(command: list[str], note: str) -> int:
    """Run a job, unless its note says that it has ended well; return its exit status, and note it."""
    failed = Path(note + FAILED)
    if Path(note).exists():
        return 0
    with suppress(OSError):  # a run that was killed leaves jobs behind, and its folder of notes may be gone
        failed.unlink(missing_ok=True)
    status = os.spawnvp(os.P_WAIT, command[0], command)  # noqa: S606 - a command that the plug-in would run
    with suppress(OSError):
        (failed if status else Path(note)).touch()
    return abs(status)


if __name__ == "__main__":
    command = own_command(sys.argv[1:], os.environ)
    notes = [word.removeprefix(NOTE) for word in command if word.startswith(NOTE)]
    command = [word for word in command if not word.startswith(NOTE)]
    if notes:
        sys.exit(run_noted(command, notes[0]))
    os.execvp(command[0], command)  # noqa: S606 - a command that the plug-in would run
