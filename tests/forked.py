"""Code in a process that is forked from that of the test: what it changes ends with it, and what is imported is there."""

import os
import sys
import traceback
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import IO, NoReturn


def run_forked(code: str, **environment: str) -> "CompletedProcess[str]":
    """Run code with these variables added to the environment; to start Python and to import torch takes fifty times as long."""
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        process = os.fork()
        if process == 0:
            _run(code, environment, output, errors)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        texts = [(stream.seek(0), stream.read())[1] for stream in (output, errors)]
        return CompletedProcess(code, status, *texts)


def _run(code: str, environment: dict[str, str], output: IO[str], errors: IO[str]) -> NoReturn:
    status = 1
    try:
        sys.stdout, sys.stderr = output, errors
        os.environ.update(environment)
        exec(code, {"__name__": "__main__"})  # noqa: S102 (the test's own)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        output.flush()
        errors.flush()
        os._exit(status)
