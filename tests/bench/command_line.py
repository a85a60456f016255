"""The command line of the benchmarks."""

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import bench.evaluate.stage
import bench.evaluation.stage
import bench.fixed_cost.stage
import bench.plan.stage
import bench.prepare.stage
import bench.search.stage
from bench import machine, report
from bench.runner import Maker, Outcome, run_stage
from bench.settings import REPOSITORY, Settings

STAGES: dict[str, Maker] = {
    "prepare": bench.prepare.stage.make,
    "evaluation": bench.evaluation.stage.make,
    "search": bench.search.stage.make,
    "evaluate": bench.evaluate.stage.make,
    "fixed-cost": bench.fixed_cost.stage.make,
    "plan": bench.plan.stage.make,
}

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Run the stages that were asked for and write the results.

    Args:
        arguments: The command line without the program.

    Returns:
        Exit status: 1 if a side failed or outputs disagree, else 0, whether targets are met or not.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    settings = _settings(options)
    start, found = time.perf_counter(), machine.describe(settings)
    outcomes = [run_stage(name, STAGES[name], settings) for name in STAGES if name in (options.only or STAGES)]
    form = f"the {'quick' if settings.quick else 'full'} form, {(time.perf_counter() - start) / 60:.0f} minutes"
    texts = {".json": report.as_json(found, form, outcomes), ".md": report.as_markdown(found, form, outcomes)}
    paths = report.write(options.output, machine.slug(found["device"]) + _suffix(options), texts)
    logger.info("\n%s\n%s", texts[".md"], "\n".join(map(str, paths)))
    return exit_status(outcomes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small inputs and few rounds, to see that everything works")
    parser.add_argument("--only", nargs="+", choices=STAGES, metavar="STAGE", help=f"some of {', '.join(STAGES)}")
    parser.add_argument("--repeats", type=int, metavar="N", help="rounds of every stage")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "tests/bench/results", help="folder for the results")
    parser.add_argument("--nfcorpus", type=Path, help="nfcorpus.zip; else that of the folder BEIRFLOW_ARCHIVES")
    parser.add_argument(
        "--own-python",
        type=lambda path: Path(path).absolute(),
        help="interpreter of beirflow's environment; else .venv/bin/python, else this one",
    )
    parser.add_argument("--device", choices=("auto", "cpu"), default="auto", help="cpu hides GPUs from all sides")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    archives, own = os.environ.get("BEIRFLOW_ARCHIVES"), REPOSITORY / ".venv/bin/python"
    nfcorpus = options.nfcorpus or (Path(archives) / "nfcorpus.zip" if archives else None)
    return Settings(
        quick=options.quick,
        repeats=options.repeats,
        own_python=str(options.own_python or (own if own.exists() else sys.executable)),
        peer_python=sys.executable,
        nfcorpus=nfcorpus and nfcorpus.absolute(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        device=options.device,
    )


def _suffix(options: argparse.Namespace) -> str:
    """Only the full form of all stages has the plain name; the others never replace it."""
    return ("-quick" if options.quick else "") + ("-part" if options.only else "")


def exit_status(outcomes: Sequence[Outcome]) -> int:
    """1 if a stage failed, else 0."""
    failed = [outcome.name for outcome in outcomes if outcome.failure]
    if failed:
        logger.error("FAILED: %s", ", ".join(failed))
    return 1 if failed else 0
