"""Snakemake that was imported before it is asked for, with what its jobs import: that takes longer than a short run.

Run as a program, it answers each request with the number of a process and its exit status; every request is a process of its own,
forked from this one, which has imported what Snakemake imports and has done nothing else. On Linux alone.
"""

import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from warm_jobs import PROCESS, Request, forget_beirflow, fork_jobs, import_libraries, run_to_the_end, serve_forks

REPOSITORY = Path(__file__).parents[1]
LATER = ("jsonschema", "nbformat.validator", "pyarrow.parquet", "requests")
"""Modules that Snakemake and the rules import while they run."""


def run_warm(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, warm_jobs: bool = True
) -> tuple[int, str]:
    """Run Snakemake to its end, with all of this environment; gives its exit status, and what it printed."""
    with tempfile.NamedTemporaryFile("r", prefix="snakemake-output-") as output, _connected() as connection:
        request = {
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
            "output": output.name,
            "warm_jobs": warm_jobs,
        }
        connection.sendall(json.dumps(request).encode() + b"\n")
        answers = connection.makefile()
        process = int(answers.readline())
        try:
            status = int(answers.readline())
        except BaseException:
            os.kill(process, signal.SIGKILL)
            raise
        return status, Path(output.name).read_text()


def _connected() -> socket.socket:
    """Connect to the server that all processes of this run of pytest share; start it if there is none."""
    owner = os.getppid() if PROCESS in os.environ else os.getpid()
    address = f"\0warm-snakemake-{owner}"
    with socket.socket(socket.AF_UNIX) as listener, suppress(OSError):  # the address is taken if there is one
        listener.bind(address)
        listener.listen()
        # A library that has threads could not be forked.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        command = [sys.executable, __file__, str(listener.fileno()), str(owner)]
        subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()])
    connection = socket.socket(socket.AF_UNIX)
    while True:
        try:
            connection.connect(address)
        except ConnectionRefusedError:  # another process has taken the address and does not listen yet
            continue
        return connection


def serve(listener: socket.socket, owner: int) -> NoReturn:
    """Answer requests until the owner has ended, each in a process of its own."""
    import snakemake.cli

    snakemake.cli.get_argument_parser()  # which imports all plugins
    for name in LATER:
        importlib.import_module(name)
    import_libraries(REPOSITORY / "workflow")
    parse_rule_files(REPOSITORY)
    serve_forks(listener, partial(_accepted, listener), _run, owner)


def _accepted(listener: socket.socket) -> tuple[Request, socket.socket]:
    connection, _ = listener.accept()
    return json.loads(connection.makefile().readline()), connection


def _run(request: Request) -> NoReturn:
    """Run Snakemake in this process."""
    become(request)
    if str(REPOSITORY / "Snakefile") not in request["arguments"]:
        forget_beirflow()
    if request["warm_jobs"] and "--dry-run" not in request["arguments"]:
        fork_jobs()
    run_to_the_end(sys.modules["snakemake.cli"].main)


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


def become(request: Request) -> None:
    """Make this process what a program is that was just started."""
    import snakemake

    output = os.open(request["output"], os.O_WRONLY)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = [f"{snakemake.__path__[0]}/__main__.py", *request["arguments"]]


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
