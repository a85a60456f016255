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

from warm_jobs import fork_jobs, import_libraries, run_to_the_end

LATER = ("jsonschema", "nbformat.validator", "pyarrow.parquet", "requests")
"""What Snakemake and the rules import while they run."""

NOT_FOR_LIBRARIES = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTEST_CURRENT_TEST"}
"""Variables that no library reads while it is imported, or Snakemake sets for each job anyway."""


class WarmSnakemake:
    """Runs Snakemake, one run at a time."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
        """Run Snakemake to its end.

        Args:
            arguments: Of its command line.
            folder: Where to run it.
            environment: All of its environment.

        Returns:
            Its exit status, and what it printed.
        """
        process, self._process = self._process or self._start(), None
        assert process.stdin is not None
        assert process.stdout is not None
        with tempfile.NamedTemporaryFile("r", prefix="snakemake-output-") as output:
            request = {
                "arguments": list(arguments),
                "folder": str(folder),
                "environment": dict(environment),
                "output": output.name,
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
        environment = {**self._environment, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen([sys.executable, __file__], env=environment, text=True, **streams)


def serve() -> None:
    """Answer requests until there are no more, each in a process of its own."""
    own = for_libraries(os.environ)
    import snakemake.cli

    snakemake.cli.get_argument_parser()  # which imports all plugins
    for name in LATER:
        importlib.import_module(name)
    import_libraries(Path(__file__).parents[1] / "workflow")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
            sys.stdout.flush()
            continue
        become(request)
        if for_libraries(os.environ) == own:
            fork_jobs()
        run_to_the_end(snakemake.cli.main)


def for_libraries(environment: Mapping[str, str]) -> dict[str, str]:
    """What libraries may have read when they were imported: under another environment jobs start as ever."""
    return {name: value for name, value in environment.items() if name not in NOT_FOR_LIBRARIES}


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
