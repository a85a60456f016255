"""``beirflow doctor``: what of this machine may keep a run from working, each with its remedy."""

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from beirflow.extensions.doctor.finding import DEADLINE, OK, PROBLEM, WARNING, Finding
from beirflow.extensions.doctor.gpus import list_gpus, of_gpus, probe_torch
from beirflow.extensions.doctor.machine import of_folder, of_machine
from beirflow.extensions.doctor.packages import of_packages

HELP = "check Python, packages, GPUs, hub, disk and locks of this machine"

PATIENCE = 5.0  # seconds in which a host answers


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--results", default="results", metavar="FOLDER", help="the folder that runs write; results by default")
    parser.add_argument("--json", action="store_true", help="print a list of JSON objects in place of the table")
    parser.epilog = "Exit status 1 if there is a problem.\n\nExample: beirflow doctor"


def main(options: Namespace) -> int:
    """Print what was found; return 1 if anything is a problem."""
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
    """Yield what this machine has."""
    from huggingface_hub import constants

    hub, host = constants.ENDPOINT, beir_host()
    answers = answers_of(
        {
            "nvidia-smi": list_gpus,
            "torch": probe_torch,
            "hub": lambda: status_of(hub),
            "BEIR": lambda: status_of(host),
        }
    )
    yield from of_packages()
    yield from of_gpus(answers["nvidia-smi"], answers["torch"])
    yield from _of_hub(hub, answers["hub"])
    todo = "check the network and HTTPS_PROXY, or set data_dir to a folder with the datasets, or mirrors"
    yield _of_host("datasets of BEIR", host, answers["BEIR"], todo)
    yield from of_folder("results folder", results, "set 'results' to a folder on another disk")
    yield from of_folder("cache of the hub", Path(constants.HF_HUB_CACHE), "set HF_HOME to a folder on another disk")
    yield from of_machine()
    yield _of_runs(results)


def answers_of(questions: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Ask all at once; return by name the answer, the exception in its place, or TimeoutError after the deadline."""
    answers: dict[str, Any] = {name: TimeoutError(f"no answer in {DEADLINE:.0f} s") for name in questions}

    def ask(name: str, question: Callable[[], Any]) -> None:
        """Keep an answer."""
        try:
            answers[name] = question()
        except Exception as error:  # whatever it is, it is what was found
            answers[name] = error

    until = time.monotonic() + DEADLINE
    threads = [Thread(target=ask, args=each, daemon=True) for each in questions.items()]  # none keeps this process from ending
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return dict(answers)


def beir_host() -> str:
    """Return the host of the datasets of BEIR."""
    from beirflow.data.catalogue.catalogue import load_catalogue

    return load_catalogue().host


def status_of(address: str) -> int:
    """Return the status with which a host answers."""
    import requests

    return requests.head(address, timeout=PATIENCE, allow_redirects=False).status_code


def _of_host(what: str, address: str, answer: Any, todo: str) -> Finding:
    """Return whether a host answered; of an error, its kind, since its text may hold the address."""
    from beirflow.core.addresses import shown

    if isinstance(answer, int):
        words = f"answers with status {answer}"
    else:
        words = f"cannot be reached ({answer if isinstance(answer, TimeoutError) else type(answer).__name__})"
    reached = isinstance(answer, int) and answer < 500
    return Finding(OK if reached else WARNING, what, f"{shown(address)} {words}", "" if reached else todo)


def _of_hub(address: str, answer: Any) -> Iterator[Finding]:
    """Yield whether the hub answers, and whether there is a token for it, which is not shown."""
    from huggingface_hub import constants, get_token

    from beirflow.core.addresses import shown

    if constants.HF_HUB_OFFLINE:
        yield Finding(OK, "hub", f"{shown(address)}: not used, HF_HUB_OFFLINE is set")
    else:
        todo = "check HF_ENDPOINT, the network and HTTPS_PROXY; models in folders, packages and the cache work"
        yield _of_host("hub", address, answer, todo)
    token = "there" if get_token() else "none, which only models and datasets that are not public need"
    yield Finding(OK, "token of the hub", token)


def _of_runs(results: Path) -> Finding:
    """Return a run that writes the results now, or locks that a killed one left in this folder."""
    from beirflow.run.results_lock import living_run
    from beirflow.run.undocumented import LOCKS

    if living := living_run(results / "logs"):
        return Finding(WARNING, "runs", living)
    if left := [path for path in Path(LOCKS).glob("*") if path.is_file()]:
        found = f"{Path(LOCKS).absolute()} has {len(left)} locks, and no run has {results}: a killed run left them"
        return Finding(WARNING, "runs", found, "if no other run works in this folder: beirflow run my.yaml --unlock")
    return Finding(OK, "runs", f"none in this folder, and none writes {results}")
