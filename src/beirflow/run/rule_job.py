"""Job of a rule: what Snakemake knows of it, and the file in which its command hands that over.

A command is one string of at most 128 KB, and a summary reads thousands of files. So the command of every rule names a file of
:data:`FOLDER` in the working folder, which is called by the digest of its content. Whatever changes a result is in the rule's own
``params``, which Snakemake compares; it does not compare the command.
"""

import hashlib
import inspect
import json
import os
import re
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from beirflow.run import client

FOLDER = Path(".snakemake/beirflow/jobs")

COMMAND = "command"  # the entry of ``params`` with the command

OWN = (COMMAND, "function", "results")  # entries of ``params`` that are read where the job begins
TRIGGER = re.compile(r"(?:.*_)?(?:code|states?)")  # names of entries of ``params`` that only make a job run again

KEPT_SECONDS = 7 * 24 * 3600.0  # time in which a job reads its file, at the latest: it is written just before


class Named(list[Any]):
    """List of files of a rule, with names of some."""

    def __init__(self, files: Iterable[str], names: Mapping[str, Any]) -> None:
        super().__init__(files)
        self._names = names

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names, each with its file or its list of files."""
        return self._names.items()


@dataclass(frozen=True)
class RuleJob:
    """Job of a rule, as its command hands it over."""

    rule: str
    input: Mapping[str, Any]  # those with names
    output: Named
    params: Mapping[str, Any]
    wildcards: Mapping[str, str]
    config: Mapping[str, Any]
    threads: int
    log: list[str]


def read_job(path: str, threads: int, log: str) -> RuleJob:
    """Read the file of a job."""
    content = json.loads(Path(path).read_bytes())
    outputs, config = content.pop("outputs"), json.loads(Path(content.pop("config")).read_bytes())
    return RuleJob(**content | {"output": Named(outputs, content["output"]), "config": config}, threads=threads, log=[log])


class Commands:
    """Commands of the jobs of a run, for the params of its ``rules``, all of which get its configuration.

    ``deploys`` says whether jobs run in environments that Snakemake deploys, with a Python of their own; ``dry``, whether
    commands are at most shown.
    """

    def __init__(self, rules: Any, config: Mapping[str, Any], *, deploys: bool, dry: bool) -> None:
        self._rules, self._config, self._dry = rules, config, dry
        # An environment's Python never reaches the worker, which has the packages of this one.
        in_own = ["python", "-P", "-c", client.RUN_HERE, client.PACKAGES]
        self._start = shlex.join(in_own if deploys else [sys.executable, "-IS", client.__file__])

    def of(self, rule: str) -> Callable[..., "Command"]:
        """Return the function in params that gives the commands of a rule's jobs; due to ``input``, they are not compared."""

        def command(wildcards: Any, input: Any, output: Any) -> Command:  # noqa: A002 (Snakemake's name)
            """Return the command of a job."""
            return Command(partial(self._text, rule, wildcards, input, output))

        return signed(command)

    def _text(self, rule: str, wildcards: Any, inputs: Any, outputs: Any) -> str:
        params = getattr(self._rules, rule).params.items()
        job = {
            "rule": rule,
            "input": dict(inputs.items()),
            "output": dict(outputs.items()),
            "outputs": list(outputs),
            "params": {name: _value(value, wildcards, inputs) for name, value in params if name != COMMAND},
            "wildcards": dict(wildcards.items()),
            "config": self._config_path,
        }
        return f"{self._start} {shlex.quote(self._written(job))}"

    @cached_property
    def _config_path(self) -> str:
        return self._written(self._config)

    def _written(self, content: Mapping[str, Any]) -> str:
        """Write a file, or only name it; return its path."""
        text = json.dumps(content, ensure_ascii=False).encode(errors="surrogateescape")
        path = FOLDER / f"{hashlib.sha256(text).hexdigest()}.json"
        if not self._dry:
            _write(path, text)
        return str(path)


class Command:
    """Text that is made when it is formatted: Snakemake evaluates params of all jobs of a plan, and runs some of them."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


class HiddenCommand(str):
    """Command of jobs in a plan that shows none, which Snakemake would format three times a job unless it were false."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Return False."""
        return False


def shell_command(*, hidden: bool) -> str:
    """Return the command of all jobs, for ``shell:``, in a plan that shows it or hides it."""
    command = "{params.command} {threads} {log:q}"
    return HiddenCommand(command) if hidden else command


def signed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a rule that knows its signature, for which Snakemake asks several times a job."""
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return function


def remove_old_files() -> None:
    """Remove files of jobs that have read them long ago."""
    for path in FOLDER.glob("*"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - KEPT_SECONDS:
                path.unlink()


def _value(value: Any, wildcards: Any, inputs: Any) -> Any:
    """Return the value of an entry of params, which may be a function of the wildcards, or of these and the input."""
    if not callable(value):
        return value
    return value(wildcards, inputs) if _takes_input(value) else value(wildcards)


@cache
def _takes_input(function: Callable[..., Any]) -> bool:
    return "input" in inspect.signature(function).parameters


def _write(path: Path, text: bytes) -> None:
    """Write a file that nobody else may read; one that is there with this content counts as new."""
    with suppress(OSError):
        if path.read_bytes() == text:
            os.utime(path)
            return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:  # noqa: PTH123 (a descriptor)
        stream.write(text)
    os.replace(partial, path)
