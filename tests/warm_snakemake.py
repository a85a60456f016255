"""Snakemake that was imported before it is asked for, with what its jobs import: that takes longer than a short run.

Run as a program, it reads one request a line and answers each with an exit status; every request is a process of its own, forked
from this one, which has imported what Snakemake imports and has done nothing else.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from warm_jobs import forget_beirflow, fork_jobs, import_libraries, run_to_the_end

LATER = ("jsonschema", "nbformat.validator", "pyarrow.parquet", "requests")
"""What Snakemake and the rules import while they run."""


class WarmSnakemake:
    """Runs Snakemake, one run at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, warm_jobs: bool = True
    ) -> tuple[int, str]:
        """Run Snakemake to its end, with all of this environment; gives its exit status, and what it printed."""
        process, self._process = self._process or self._start(), None
        assert process.stdin is not None
        assert process.stdout is not None
        with tempfile.NamedTemporaryFile("r", prefix="snakemake-output-") as output:
            request = {
                "arguments": list(arguments),
                "folder": str(folder),
                "environment": dict(environment),
                "output": output.name,
                "warm_jobs": warm_jobs,
            }
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                status = int(process.stdout.readline())
            except BaseException:
                process.kill()
                raise
            self._process = process
            return status, Path(output.name).read_text()

    def _start(self) -> "subprocess.Popen[str]":
        """The server; a library that has threads could not be forked."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen([sys.executable, __file__], env=environment, text=True, **streams)


def serve() -> None:
    """Answer requests until there are no more, each in a process of its own."""
    import snakemake.cli

    snakemake.cli.get_argument_parser()  # which imports all plugins
    for name in LATER:
        importlib.import_module(name)
    repository = Path(__file__).parents[1]
    import_libraries(repository / "workflow")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
            sys.stdout.flush()
            continue
        become(request)
        if str(repository / "Snakefile") not in request["arguments"]:
            forget_beirflow()
        runs_jobs = request["warm_jobs"] and "--dry-run" not in request["arguments"]
        if runs_jobs and sys.platform == "linux":  # which has this kind of sockets, and libraries that may be forked
            fork_jobs()
        run_to_the_end(snakemake.cli.main)


def become(request: Mapping[str, object]) -> None:
    """Make this process what a program is that was just started."""
    import snakemake

    output = os.open(str(request["output"]), os.O_WRONLY)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["folder"]))
    sys.argv = [f"{snakemake.__path__[0]}/__main__.py", *request["arguments"]]  # type: ignore[misc]


if __name__ == "__main__":
    serve()
