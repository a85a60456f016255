"""The command line of the benchmarks."""

import argparse
import logging
import math
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench import machine, report
from bench.machine import REPOSITORY, Settings
from bench.runner import Outcome, adopt_orphans, run_stage
from bench.stage import TABLE, read_stage, sizes_of

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Run the stages of a command line and write the results.

    Returns:
        Exit status: 1 if a side failed or outputs disagree, else 0, whether targets are met or not.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    adopt_orphans()
    settings = _settings(options)
    stages = _chosen(options)
    peers = None if options.scale else machine.ask(settings, settings.peer_python, machine.PEERS)
    found = machine.describe(machine.ask(settings, settings.own_python, machine.OWN), settings.cores, peers)
    start = time.perf_counter()
    most = options.documents or math.inf
    sizes = [(name, size) for name in stages for size in sizes_of(name, settings) if size.get("documents", 0) <= most]
    sizes.sort(key=lambda stage: stage[1].get("documents", math.inf))  # a run that is cut short has the small sizes of all
    outcomes: list[Outcome] = []
    for name, size in sizes:  # what was found is written each time, so that a run that is cut short keeps it
        outcomes.append(run_stage(name, partial(read_stage, name, **size), settings))
        form = f"the {'quick' if settings.quick else 'full'} form, {(time.perf_counter() - start) / 60:.0f} minutes"
        texts = {".json": report.as_json(found, form, outcomes), ".md": report.as_markdown(found, form, outcomes)}
        paths = report.write(options.output, machine.slug(found["device"]) + _suffix(options), texts)
    logger.info("\n%s\n%s", texts[".md"], "\n".join(map(str, paths)))
    return exit_status(outcomes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small inputs and few rounds, to see that everything works")
    parser.add_argument("--scale", action="store_true", help="stages of the size of the largest datasets, without peers")
    beside, scale = TABLE.values()
    known = f"some of {', '.join(beside)}; with --scale of {', '.join(scale)}"
    parser.add_argument("--only", nargs="+", choices=[*beside, *scale], metavar="STAGE", help=known)
    parser.add_argument("--documents", type=int, metavar="N", help="at most so many, in stages that are run with several numbers")
    parser.add_argument("--repeats", type=int, metavar="N", help="rounds of every stage")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "tests/bench/results", help="folder for the results")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    archives, own = os.environ.get("BEIRFLOW_ARCHIVES"), REPOSITORY / ".venv/bin/python"
    return Settings(
        quick=options.quick,
        repeats=options.repeats,
        own_python=str(own if own.exists() else sys.executable),
        peer_python=sys.executable,
        nfcorpus=Path(archives, "nfcorpus.zip").absolute() if archives else None,
        cores=machine.available_cores(),
    )


def _chosen(options: argparse.Namespace) -> list[str]:
    """Names of the stages to run."""
    stages = TABLE["at scale" if options.scale else "beside peers"]
    wrong = [name for name in options.only or () if name not in stages]
    if wrong:
        _parser().error(f"--only: no stage {', '.join(wrong)} {'with' if options.scale else 'without'} --scale")
    return [name for name in stages if name in (options.only or stages)]


def _suffix(options: argparse.Namespace) -> str:
    """Only the full form of all stages has the plain name; the others never replace it."""
    return "".join(f"-{word}" for word in ("scale", "quick") if getattr(options, word)) + ("-part" if options.only else "")


def exit_status(outcomes: Sequence[Outcome]) -> int:
    """1 if a stage failed, else 0."""
    failed = [outcome.name for outcome in outcomes if outcome.failure]
    if failed:
        logger.error("FAILED: %s", ", ".join(failed))
    return 1 if failed else 0
