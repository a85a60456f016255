"""``beirflow doctor``: what of this machine may keep a run from working, each with its remedy."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from beirflow.cli.doctor.finding import DEADLINE, OK, PROBLEM, WARNING, Finding
from beirflow.cli.doctor.gpus import list_gpus, of_gpus, probe_torch
from beirflow.cli.doctor.hosts import beir_host, of_host, of_hub, status_of
from beirflow.cli.doctor.machine import of_folder, of_machine
from beirflow.cli.doctor.packages import of_packages

HELP = "check Python, packages, GPUs, hub, disk and locks of this machine"


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--results", default="results", metavar="FOLDER", help="the folder that runs write; results by default")
    parser.add_argument("--json", action="store_true", help="print a list of JSON objects in place of the table")
    parser.epilog = "Exit status 1 if there is a problem.\n\nExample: beirflow doctor"


def main(options: Namespace) -> int:
    """Print what was found; return 1 if anything is a problem."""
    import json

    found = [*findings(Path(options.results).expanduser())]
    if options.json:
        sys.stdout.write(f"{json.dumps([each._asdict() for each in found], indent=2, ensure_ascii=False)}\n")
    else:
        width = max(len(each.what) for each in found)
        for each in found:
            sys.stdout.write(f"{each.status:7}  {each.what:{width}}  {each.found}\n")
            if each.todo:
                sys.stdout.write(f"{'':{width + 11}}-> {each.todo}\n")
    return int(any(each.status == PROBLEM for each in found))


def findings(results: Path) -> Iterator[Finding]:
    """Yield what this machine has; whatever may hang is asked at once and waited for until the deadline."""
    from huggingface_hub import constants

    answers = _Answers(
        {
            "nvidia-smi": list_gpus,
            "torch": probe_torch,
            "hub": lambda: status_of(constants.ENDPOINT),
            "BEIR": lambda: status_of(beir_host()),
        }
    )
    yield from of_packages()
    yield from of_gpus(answers.get("nvidia-smi"), answers.get("torch"))
    yield from of_hub(answers.get("hub"))
    todo = "check the network and HTTPS_PROXY, or set data_dir to a folder with the datasets, or mirrors"
    yield of_host("datasets of BEIR", beir_host(), answers.get("BEIR"), todo)
    yield from of_folder("results folder", results, "set 'results' to a folder on another disk")
    yield from of_folder("cache of the hub", Path(constants.HF_HUB_CACHE), "set HF_HOME to a folder on another disk")
    yield from of_machine()
    yield from _of_runs(results)


class _Answers:
    """Answers that other threads wait for, none of which keeps this process from ending."""

    def __init__(self, questions: Mapping[str, Callable[[], Any]]) -> None:
        from concurrent.futures import Future
        from threading import Thread

        self._until = time.monotonic() + DEADLINE
        self._futures: dict[str, Future[Any]] = {name: Future() for name in questions}
        for name, question in questions.items():
            Thread(target=self._answer, args=(name, question), daemon=True).start()

    def _answer(self, name: str, question: Callable[[], Any]) -> None:
        try:
            self._futures[name].set_result(question())
        except Exception as error:  # whatever it is, it is what was found
            self._futures[name].set_result(error)

    def get(self, name: str) -> Any:
        """Return an answer, the exception in its place, or TimeoutError after the deadline."""
        try:
            return self._futures[name].result(max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            return TimeoutError(f"no answer in {DEADLINE:.0f} s")


def _of_runs(results: Path) -> Iterator[Finding]:
    """Yield a run that writes the results now, or locks that a killed one left in this folder."""
    from beirflow.run.results_lock import living_run
    from beirflow.run.undocumented import LOCKS

    if living := living_run(results / "logs"):
        yield Finding(WARNING, "runs", living)
    elif left := [path for path in Path(LOCKS).glob("*") if path.is_file()]:
        found = f"{Path(LOCKS).absolute()} has {len(left)} locks, and no run has {results}: a killed run left them"
        yield Finding(WARNING, "runs", found, "if no other run works in this folder: beirflow run my.yaml --unlock")
    else:
        yield Finding(OK, "runs", f"none in this folder, and none writes {results}")
