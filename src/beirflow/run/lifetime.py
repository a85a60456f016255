"""The lifetime of a job: never longer than that of its Snakemake.

If Snakemake alone is killed, a job would continue to write while the next run, perhaps with another configuration, makes the
same files. Instead, the kernel ends the job at the same moment, so that no file has two writers. This needs Linux.

For the kernel, the parent is the thread that started the job, not the whole process (prctl(2)): a job ends with that thread,
even if its Snakemake continues. Snakemake's local executor starts a job in a thread that waits for it, so there the two are the
same. An executor whose threads end before their jobs must not use this. Of a job that the warm worker forked, the worker is the
parent.
"""

import ctypes
import os
import signal
import sys

SNAKEMAKE_PID = "BEIRFLOW_SNAKEMAKE_PID"  # the environment variable that tells a job who started it

PR_SET_PDEATHSIG = 1


def end_with_this_process() -> str:
    """Return a prefix of a shell command, whose job then ends with this process.

    It tells the job who we are, and lets the shell give way to it, so that it is our own child. Of several commands only the
    first would run; a rule has one.
    """
    return f"{SNAKEMAKE_PID}={os.getpid()} exec "


def end_with_snakemake() -> None:
    """Have this process killed when the Snakemake that started it ends, or at once if it has ended already.

    Does nothing in a process that no Snakemake started. SIGKILL, since cleaning up would take time in which the next run begins;
    what is left behind has the names that the next run writes to.
    """
    parent = os.environ.get(SNAKEMAKE_PID)
    if parent is not None and sys.platform == "linux":
        end_with(int(parent))


def end_with(parent: int) -> None:
    """Have this process killed when its parent ends, or at once if that has ended already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
