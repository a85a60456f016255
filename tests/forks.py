"""Programs in a fork of this process: as far apart as in a process of their own, without the seconds that its imports take."""

import io
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from tempfile import TemporaryFile


def run_in_fork(program: Callable[[], object], given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a function as a program that reads a text; gives its exit status, what it printed, and its errors."""
    with TemporaryFile() as output, TemporaryFile() as errors:
        child = os.fork()
        if not child:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.stdin, sys.stdout, sys.stderr = io.StringIO(given), os.fdopen(1, "w"), os.fdopen(2, "w")
            os._exit(_status(program))
        _, status = os.waitpid(child, 0)
        texts = [stream.seek(0) or stream.read().decode() for stream in (output, errors)]
    return subprocess.CompletedProcess([], os.waitstatus_to_exitcode(status), *texts)


def run_code_in_fork(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in the same way, with these variables added to the environment."""

    def program() -> None:
        os.environ.update(environment)
        exec(code, {"__name__": "__main__"})  # noqa: S102 (the test's own)

    return run_in_fork(program)


def _status(program: Callable[[], object]) -> int:
    """Return the exit status that Python would end with."""
    status: object = 1
    try:
        program()
        status = 0
    except SystemExit as end:
        status = end.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)  # noqa: T201
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else 1


def forget(*packages: str) -> None:
    """Let this process import packages anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]
