"""Snakemake that was imported before it is asked for, with what its jobs import: that takes longer than a short run.

Run as a program, it answers each request with the number of a process and its exit status; every request is a process of its own,
forked from this one, which has imported what Snakemake imports and has done nothing else. On Linux alone.
"""

import atexit
import gc
import importlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any, NoReturn

from beirflow.run import client, worker
from warm_jobs import PROCESS, forget_beirflow, forget_power_losses, import_libraries

REPOSITORY = Path(__file__).parents[1]
LATER = ("jsonschema", "nbformat.validator", "pyarrow.parquet", "requests")
"""Modules that Snakemake and the rules import while they run."""

LONGEST_LIST = 1 << 20  # bytes of names of modules

SECONDS = "BEIRFLOW_SECONDS_OF_TEST"
"""Variable of the environment with a file to which a run writes the processor seconds that it took."""


def run_warm(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, warm_jobs: bool = True, command: bool = False
) -> tuple[int, str]:
    """Run Snakemake, or the command beirflow, to its end, with all of this environment; gives its exit status and its output."""
    request = {"arguments": list(arguments), "folder": str(folder), "environment": dict(environment)}
    with TemporaryFile() as output, open(os.devnull) as nothing:  # noqa: PTH123 (as brief)
        connection = client.connected(_address())
        assert connection
        try:
            streams = (nothing.fileno(), output.fileno(), output.fileno())
            assert client.begun(connection, {**request, "warm_jobs": warm_jobs, "command": command}, streams)
            status = client.exit_status(connection)
        finally:
            connection.close()  # which ends the run if it has not ended
        output.seek(0)
        return status, output.read().decode()


def _address() -> str:
    """Return the address of the server that all processes of this run of pytest share; start it if there is none."""
    owner = os.getppid() if PROCESS in os.environ else os.getpid()
    address = f"warm-snakemake-{owner}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, suppress(OSError):  # the address is taken if there is one
        listener.bind(f"\0{address}")
        listener.listen()
        package = {"PYTHONPATH": str(REPOSITORY / "src")}
        environment = {**os.environ, **worker.NO_THREADS, **package, "OMP_WAIT_POLICY": "passive"}
        command = [sys.executable, __file__, str(listener.fileno()), str(owner)]
        subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()])
    return address


def serve(listener: socket.socket, owner: int) -> NoReturn:
    """Run Snakemake for clients until the owner has ended, each in a process of its own."""
    gc.disable()  # what is imported is no garbage; forks look for it
    import snakemake.cli

    snakemake.cli.get_argument_parser()  # which imports all plugins
    for name in LATER:
        importlib.import_module(name)
    import_libraries()
    sys.path.remove(str(REPOSITORY / "src"))
    parse_rule_files(REPOSITORY)
    forget_power_losses()
    worker.serve(listener, owner, run_snakemake)


def run_snakemake(
    arguments: Sequence[str], folder: str, environment: Mapping[str, str], *, warm_jobs: bool, command: bool
) -> NoReturn:
    """Run Snakemake, or the command beirflow, in this process, as a program that was just started."""
    import snakemake

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["beirflow" if command else f"{snakemake.__path__[0]}/__main__.py", *arguments]
    if not command and str(REPOSITORY / "Snakefile") not in arguments:
        forget_beirflow()
    if SECONDS in environment:
        atexit.register(lambda: Path(environment[SECONDS]).write_text(str(time.process_time())))
    if warm_jobs and "--dry-run" not in arguments:
        fork_the_worker()
    worker.run_to_the_end(sys.modules["beirflow.cli"].run_and_exit if command else sys.modules["snakemake.cli"].main)


def fork_the_worker() -> None:
    """Have the worker of this Snakemake forked from it as it is now, while it has one thread, when it starts one."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    start_process = subprocess.Popen
    if os.fork() == 0:
        mine.close()
        modules, descriptors, _, _ = socket.recv_fds(theirs, LONGEST_LIST, 1)
        if not modules:  # no job was planned
            os._exit(0)
        package, *names = modules.decode().split(os.pathsep)
        sys.path.insert(0, package)
        worker.main(str(descriptors[0]), str(os.getppid()), *names)
    theirs.close()

    def start(command: Any, **options: Any) -> Any:
        if worker.__name__ not in command:
            return start_process(command, **options)
        package, names = options["env"]["PYTHONPATH"].partition(os.pathsep)[0], command[6:]
        return socket.send_fds(mine, [os.pathsep.join([package, *names]).encode()], options["pass_fds"])

    vars(subprocess)["Popen"] = start


@cache
def parse_each_rule_file_once() -> None:
    """Let Snakemake keep what it makes of a rule file, and Python of that: the file and the rules before it decide it alone."""
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

    module.parse, module.compile = parsed, cache(compile)


def parse_rule_files(repository: Path) -> None:
    """Have all rule files parsed, in the order in which the Snakefile includes them: a third of the time of a plan."""
    parse_each_rule_file_once()
    from snakemake.sourcecache import LocalSourceFile

    module = importlib.import_module("snakemake.workflow")

    def opened(path: Any) -> StringIO:
        return StringIO(Path(path.get_path_or_uri(secret_free=True)).read_text())

    workflow = SimpleNamespace(sourcecache=SimpleNamespace(open=opened))
    main, snakefile, count = repository / "Snakefile", repository / "workflow/Snakefile", 0
    included = re.findall(r'^include: "(.*)"$', snakefile.read_text(), re.MULTILINE)
    for path in (main, snakefile, *(snakefile.parent / name for name in included)):
        code, count = module.parse(LocalSourceFile(str(path)), workflow, linemap={}, rulecount=count)
        module.compile(code, str(path), "exec")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
