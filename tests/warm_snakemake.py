"""Snakemake that was imported before it is asked for, with what its jobs import: that takes longer than a short run.

Run as a program, it reads one request a line and answers each with an exit status; every request is a process of its own, forked
from this one, which has imported what Snakemake imports and has done nothing else.
"""

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
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
    parse_rule_files(repository)
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


@cache
def parse_each_rule_file_once() -> None:
    """Let Snakemake keep what it makes of a rule file, which depends on the file and the number of rules before it alone."""
    importlib.import_module("snakemake.api")  # before the next, which imports it in a circle
    module = importlib.import_module("snakemake.workflow")
    parse, known = module.parse, dict[tuple[object, ...], tuple[str, int, dict[int, int]]]()

    def parsed(path: Any, workflow: Any, linemap: dict[int, int], rulecount: int = 0) -> tuple[str, int]:
        name = path.get_path_or_uri(secret_free=True)
        status = Path(name).stat()
        key = (name, status.st_mtime_ns, status.st_size, rulecount)
        if key not in known:
            lines: dict[int, int] = {}
            known[key] = (*parse(path, workflow, linemap=lines, rulecount=rulecount), lines)
        code, count, lines = known[key]
        linemap |= lines
        return code, count

    module.parse = parsed


def parse_rule_files(repository: Path) -> None:
    """Have all rule files parsed, in the order in which the Snakefile includes them: a third of the time of a plan."""
    parse_each_rule_file_once()
    from snakemake.sourcecache import LocalSourceFile
    from snakemake.workflow import parse

    def opened(path: Any) -> StringIO:
        return StringIO(Path(path.get_path_or_uri(secret_free=True)).read_text())

    workflow = SimpleNamespace(sourcecache=SimpleNamespace(open=opened))
    snakefile, count = repository / "Snakefile", 0
    included = re.findall(r'^include: "(.*)"$', snakefile.read_text(), re.MULTILINE)
    for path in (snakefile, *(repository / name for name in included)):
        _, count = parse(LocalSourceFile(str(path)), workflow, linemap={}, rulecount=count)


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
