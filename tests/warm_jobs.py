"""Jobs of a warm Snakemake: each is forked from a process that has imported what jobs import, which takes most of a short job.

Of Snakemake one call is replaced, that which starts the process of a script.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

LIBRARIES = (
    "huggingface_hub",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "orjson",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.json",
    "pyarrow.parquet",
    "pytrec_eval",
    "safetensors.torch",
    "scipy.stats",
    "tokenizers",
    "torch.fx.experimental.symbolic_shapes",
    "transformers.conversion_mapping",
)
MODELS = ("transformers.models.bert.modeling_bert", "transformers.models.auto.tokenization_auto")
"""Modules that jobs import through ``load_lean``, and here too."""

PROCESS = "PYTEST_XDIST_WORKER"
"""Variable of the environment that processes of tests have, but for the one that hands tests out."""

LONGEST_REQUEST = 1 << 20
LOOK_SECONDS = 5
"""Between two looks for the process that everything is done for."""

Request: TypeAlias = Mapping[str, Any]


def import_libraries(package: Path) -> None:
    """Import what jobs import, and all of beirflow, which jobs of other copies of the workflow forget."""
    for name in LIBRARIES:
        importlib.import_module(name)
    sys.path.append(str(package))
    import beirflow
    from beirflow.computing.lean_imports import load_lean

    for name in MODELS:
        load_lean(lambda name=name: importlib.import_module(name))
    sys.modules["transformers.conversion_mapping"].get_checkpoint_conversion_mapping("bert")  # kept from the first call on
    for _, name, is_room in pkgutil.walk_packages(beirflow.__path__, "beirflow."):
        if not is_room:
            importlib.import_module(name)
    from beirflow.experiment.load import load_experiment
    from beirflow.jobs.code_version import code_version, entrances

    load_experiment({})  # reads catalogue and schemas, which are kept
    for rule in entrances():
        code_version(rule)  # kept too: a quarter of the time of a plan
    sys.path.remove(str(package))
    gc.freeze()


def forget_power_losses() -> None:
    """Let this process wait for no disk: that a file is on it matters where the power is lost, which no test does."""
    os.fsync = lambda descriptor: None


def forget_beirflow() -> None:
    """Let this process import beirflow from the copy of the workflow that it belongs to, whose code a test may have edited."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "beirflow"]:
        del sys.modules[name]


def run_to_the_end(program: Callable[[], object]) -> NoReturn:
    """Run a program and end this process as that would, but for taking apart what was imported.

    A process that was forked would copy all of it for that, which takes longer than most jobs.
    """
    status: object = 0
    try:
        program()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    if not isinstance(status, int):
        sys.stderr.write(f"{status}\n")
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


def fork_jobs() -> None:
    """Have the scripts of this Snakemake started by a process that is forked now, while there is one thread."""
    requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        requests.close()
        serve_forks(theirs, partial(_received, theirs), _run, os.getppid())
    theirs.close()

    def start(command: str, env: Mapping[str, str], **others: Any) -> "subprocess.Popen[bytes] | WarmJob":
        match shlex.split(command):
            case [assignment, "exec", sys.executable, script]:
                return WarmJob(requests, {"script": script, "environment": env, "starter": assignment.partition("=")[0]})
        return subprocess.Popen(command, env=env, **others)

    # The package has a class of the same name.
    vars(sys.modules["snakemake.shell"])["sp"] = SimpleNamespace(**{**vars(subprocess), "Popen": start})


class WarmJob:
    """The process of a script, as far as Snakemake asks for it."""

    def __init__(self, requests: socket.socket, request: Mapping[str, Any]) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            message = json.dumps({**request, "folder": str(Path.cwd())}).encode()
            socket.send_fds(requests, [message], [theirs.fileno()])
        with mine:
            self._answers = mine.makefile()
        self.pid = int(self._answers.readline())

    def wait(self) -> int:
        """Wait for its end; gives its exit status."""
        with self._answers:
            return int(self._answers.readline())

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        os.kill(self.pid, signal.SIGTERM)


def serve_forks(
    source: socket.socket,
    take: Callable[[], tuple[Request, socket.socket] | None],
    run: Callable[[Request], NoReturn],
    owner: int,
) -> NoReturn:
    """Fork a process for every request, and say its number and how it ended, until there are no more or the owner has ended.

    As their parent, since a fork takes as long as a short job.
    """
    running: dict[int, tuple[int, socket.socket]] = {}
    while _lives(owner):
        for ready in select.select([source, *running], [], [], LOOK_SECONDS)[0]:
            if ready is not source:
                child, answers = running.pop(ready)
                os.close(ready)
                _say(answers, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                answers.close()
                continue
            taken = take()
            if taken is None:
                os._exit(0)
            request, answers = taken
            child = os.fork()
            if child == 0:
                source.close()
                answers.close()
                run(request)
            _say(answers, child)
            running[os.pidfd_open(child)] = child, answers
    os._exit(0)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _say(answers: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # whoever asked has been killed
        answers.sendall(f"{number}\n".encode())


def _received(requests: socket.socket) -> tuple[Request, socket.socket] | None:
    message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 1)
    return (json.loads(message), socket.socket(fileno=descriptors[0])) if message else None


def _run(request: Request) -> NoReturn:
    """Run a job in this process."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.environ[request["starter"]] = str(os.getppid())
    os.chdir(request["folder"])
    forget_power_losses()
    sys.argv = [request["script"]]
    sys.path[0] = str(Path(request["script"]).parent)
    run_to_the_end(partial(runpy.run_path, request["script"], run_name="__main__"))
