"""Definition of the stage ``evaluation``."""

import itertools
from pathlib import Path

from bench.machine import computes_in_bfloat16
from bench.settings import REPOSITORY, Settings
from bench.stage import CannotRunError, Side, Stage, Target

FLOAT32, AUTO, BEIR = "ours, float32", "ours, auto", "beir"
TOLERANCES = (0.0003, 0.001)
QUICK_DOCUMENTS = 400
METRICS = "results/metrics/all-minilm-l6-v2/{}.json"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    if settings.nfcorpus is None or not settings.nfcorpus.is_file():
        raise CannotRunError("no nfcorpus.zip; name it with --nfcorpus, or its folder in BEIRFLOW_ARCHIVES")
    dataset = "nfcorpus-cut" if settings.quick else "nfcorpus"
    source, beir = folder / "input", folder / "beir"
    bfloat16 = computes_in_bfloat16(settings)
    float32, auto = (_ours(settings, folder, name, dataset) for name in (FLOAT32, AUTO))
    ours = [float32, auto] if bfloat16 else [float32]
    agreement = [(tolerance, side.output / METRICS.format(dataset)) for tolerance, side in zip(TOLERANCES, ours, strict=False)]
    cut = f"a cut of {QUICK_DOCUMENTS} documents of " if settings.quick else ""
    return Stage(
        name="evaluation",
        input=f"{cut}NFCorpus, all-MiniLM-L6-v2, from a folder to metrics, Snakemake included",
        clock="process",
        rounds=settings.rounds(full=2, quick=1),
        inputs=settings.own("evaluation.inputs", settings.nfcorpus, source, *([QUICK_DOCUMENTS] if settings.quick else [])),
        sides=[*ours, Side(BEIR, settings.peer("evaluation.peer_beir", source / "data" / dataset, beir), beir)],
        check=settings.peer("evaluation.check", beir, *itertools.chain(*agreement)),
        targets=[
            Target("seconds", FLOAT32, 0.88, over=BEIR, row="evaluation, float32"),
            *([Target("seconds", AUTO, 0.45, over=BEIR, row="evaluation, auto")] if bfloat16 else []),
        ],
        left_out=[] if bfloat16 else [("evaluation, auto", "no bfloat16 instructions, so auto is float32 here")],
    )


def _ours(settings: Settings, folder: Path, name: str, dataset: str) -> Side:
    """A whole run of Snakemake in an empty folder."""
    precision = name.removeprefix("ours, ")
    output = folder / precision
    configuration = ["--configfile", str(folder / f"input/{precision}.yaml")]
    where = ["--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(output)]
    command = [settings.own_python, "-m", "snakemake", *configuration, *where, "--cores", str(settings.cores)]
    return Side(name, [*command, METRICS.format(dataset)], output)
