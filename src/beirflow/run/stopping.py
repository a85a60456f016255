"""End of the jobs of a run that is interrupted.

Ctrl-C in a terminal reaches all processes of a run. An interrupt of Snakemake alone, as by ``docker stop`` or ``kill -INT``, does
not reach its jobs, and Snakemake waits for them: it is passed on.
"""

import re
import time
from contextlib import suppress
from typing import NoReturn

import psutil

OF_JOBS = re.compile(r"\bbeirflow[./]run[./]")
"""Part of the commands of clients, jobs and their worker, and of none of the commands that submit or cancel jobs of a cluster."""

AGAIN_SECONDS = 0.1  # after which children are looked for that a thread of this process has started meanwhile


def stop_jobs() -> NoReturn:
    """Ask all jobs that this process started to end, those that begin later too, until this process ends."""
    stopped = set[psutil.Process]()
    while True:
        for child in {*psutil.Process().children()} - stopped:
            with suppress(psutil.Error):
                if OF_JOBS.search(" ".join(child.cmdline())):
                    child.terminate()
                    stopped.add(child)
        time.sleep(AGAIN_SECONDS)
