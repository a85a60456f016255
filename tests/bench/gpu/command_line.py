"""The command line: how fast a GPU encodes and searches, with a model of random weights and texts as long as BEIR's."""

import argparse
import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from beirflow.run.devices import choose_device
from bench.gpu.encoding import compare_with_peer, matrices, padding, throughput
from bench.gpu.jobs import jobs
from bench.gpu.models import cross_encoder, splade, training, writing
from bench.gpu.page import as_markdown
from bench.gpu.searching import late, searching
from bench.gpu.workload import NotRunError, Setting, Shape, make_texts, save_model, token_counts
from bench.machine import REPOSITORY, available_cores, describe, probe, slug
from bench.report import write

PACKAGES = ("torch", "transformers", "tokenizers", "sentence-transformers", "numpy", "pyarrow")
PARTS: dict[str, Callable[..., Any]] = {
    "matrices": matrices,
    "throughput": throughput,
    "padding": padding,
    "peer": compare_with_peer,
    "search": searching,
    "late": late,
    "splade": splade,
    "cross-encoder": cross_encoder,
    "writing": writing,
    "training": training,
    "jobs": jobs,
}

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Run the parts of a command line, and write the results after each, so that what is done is kept.

    Returns:
        Exit status: 1 if a part failed, else 0, whether targets are met or not.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO, stream=sys.stderr)
    os.environ["HF_HUB_OFFLINE"] = "1"
    shape = Shape(options.layers, options.dim, options.heads, options.vocabulary, options.positions)
    counts = token_counts(options.documents, shape.positions)
    logger.info("making %d texts and the model", len(counts))
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(
            choose_device(options.device),
            options.precision,
            shape,
            save_model(Path(folder) / "bert", shape),
            make_texts(counts, shape),
            options.seconds,
            options.passes,
            options.matrix,
            options.queries,
        )
        own = probe(PACKAGES)
        run = describe(own if setting.device.type == "cuda" else {**own, "gpu": None}, available_cores())
        run |= {"precision": setting.precision, "model": asdict(shape), "figures": {}, "not_run": {}, "failed": {}}
        run["texts"] = {"documents": len(counts), "mean_tokens": float(counts.mean()), "longest": int(counts.max())}
        for name in options.only or PARTS:
            _run_part(name, setting, run)
            paths = _write(options, run)
    sys.stdout.write("\n".join([paths[".md"].read_text(encoding="utf-8"), *map(str, paths.values())]) + "\n")
    return 1 if run["failed"] else 0


def _run_part(name: str, setting: Setting, run: dict[str, Any]) -> None:
    """Run one part, and let the others go on if it fails."""
    logger.info("%s", name)
    rates = run["figures"].get("matrices", {})
    try:
        run["figures"][name] = PARTS[name](setting, *([rates] if name == "throughput" else []))
    except NotRunError as why:
        run["not_run"][name] = f"not run: {why}"
    except Exception as error:
        logger.error("%s", traceback.format_exc())
        run["failed"][name] = f"**FAILED**: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    if setting.device.type == "cuda":
        torch.cuda.empty_cache()


def _write(options: argparse.Namespace, run: dict[str, Any]) -> dict[str, Path]:
    texts = {".json": json.dumps(run, indent=2) + "\n", ".md": as_markdown(run)}
    name = slug(run["device"]) + "-gpu" + ("-part" if options.only else "")
    return dict(zip(texts, write(options.output, name, texts), strict=True))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/bench/gpu", description=__doc__)
    add, shape = parser.add_argument, Shape()
    add("--documents", type=int, default=500_000, metavar="N", help="texts, and vectors of the search")
    add("--seconds", type=float, default=6, metavar="S", help="of a timed pass, about")
    add("--passes", type=int, default=3, help="timed passes of each side")
    add("--only", nargs="+", choices=PARTS, metavar="PART", help=f"some of {', '.join(PARTS)}")
    add("--device", choices=("auto", "cuda", "cpu"), default="cuda")
    add("--precision", choices=("bfloat16", "float16", "float32"), default="bfloat16")
    add("--output", type=Path, default=REPOSITORY / "tests/bench/results", metavar="FOLDER", help="for the results")
    add("--queries", type=int, default=10_000, help="of the search")
    add("--matrix", type=int, default=8192, help="rows and columns of the matrices whose product is timed")
    for name in ("layers", "dim", "heads", "vocabulary", "positions"):
        add(f"--{name}", type=int, default=getattr(shape, name), help="of the model; bert-base's if not given")
    return parser
