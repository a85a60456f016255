"""A guess at the time of systems and jobs that have not run here: from parameters of models, tokens, and the name of the device.

It is right within a factor of a few: throughputs are rounded, and a model that is not on this machine has an average size.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from beirflow.config.datasets import CorpusSize, corpus_size
from beirflow.config.expected_cost import ADDING, STAGES, Part, jobs_of, measured_rates, parts_of
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.core.errors import DeviceError
from beirflow.families.family import Stage
from beirflow.families.training.settings import Training
from beirflow.run.gpus import list_gpus
from beirflow.run.overall import LONG, START, Expected, duration

PARAMETERS = 1.1e8  # parameters of a model that is not on this machine: those of BERT base
BYTES = 4.0  # bytes of a parameter in a file of weights

OPERATIONS: Mapping[str, float] = {
    "H200": 2e14,
    "H100": 1.5e14,
    "A100": 1e14,
    "L40": 6e13,
    "4090": 6e13,
    "V100": 4e13,
    "A10": 3e13,
    "L4": 3e13,
    "T4": 2e13,
}
"""Operations a second that encoders reach in practice, by a part of the name of a GPU: a third of the peak in half precision."""

OTHER_GPU, CORE = 3e13, 1.5e11  # the same of any other GPU, and of a core of a CPU: all-MiniLM-L6-v2 on two cores
TWO_CORES = 2 * CORE  # of the machine whose seconds stages state
STATED = 2.2e7  # parameters of the model whose seconds stages state, all-MiniLM-L6-v2

REPRESENTING = {family.represents.rule for family in FAMILIES.values() if family.represents}  # whose documents progress counts


class Device(NamedTuple):
    """The device of encoders: its name, and the operations that it does in a second."""

    name: str
    operations: float


def device_of(experiment: Experiment) -> Device:
    """Return the device on which encoders will run, as far as the configuration and nvidia-smi tell."""
    gpus = []
    with suppress(DeviceError):  # said by the jobs
        gpus = [] if experiment.config["device"] in ("cpu", "mps") else list_gpus()
    if gpus:
        name = gpus[0].name
        return Device(name, next((each for key, each in OPERATIONS.items() if key in name), OTHER_GPU))
    cores = os.cpu_count() or 1
    return Device(f"this CPU with {cores} cores", cores * CORE)


def guessed_seconds(experiment: Experiment, part: Part, size: CorpusSize, device: Device) -> float:
    """Return the seconds of a system on a corpus: models read and write tokens, and other stages take those of a typical machine.

    A model does two operations for each parameter and token.
    """
    family = experiment.family(part.system)
    rows = float(size.queries * min(experiment.depth(part.system), size.documents))
    words, queries = size.documents * size.words, float(size.queries)
    if family.read_by_model:  # its stages count what its model does
        words = queries = rows = 0.0
    pairs = float(size.queries) * size.documents
    others = sum(stage.seconds(words=words, pairs=pairs, queries=queries, rows=rows) for stage in family.stages)
    others += part.jobs * START + _prepared_seconds(experiment, part, size) * TWO_CORES / device.operations
    return 2 * _parameters(experiment, part.system) * (part.tokens or 0.0) / device.operations + others


def _prepared_seconds(experiment: Experiment, part: Part, size: CorpusSize) -> float:
    """Return the seconds that two cores need for what models add to documents, and for training on it."""
    train = experiment.settings(part.system).get("train") or {}
    words = min(size.documents, train.get("documents", size.documents)) * size.words
    added = experiment.expansions.of_system(part.system)
    rules = [rule for kind, rule in ADDING.items() if {*added} & {*experiment.expansions.of_kind(kind)}]
    trained = STAGES["train_encoder"].seconds(words=words) if train and part.done < 1 else 0.0
    return trained + sum(STAGES[rule].seconds(words=part.added * words) for rule in rules)


def start_warning(experiment: Experiment, results: Path, planned_seconds: float, configured: str) -> str:
    """Return what a run should say before it takes hours; empty for a short one.

    ``planned_seconds`` are those of its jobs on a typical CPU; ``configured`` is how the command line named the configuration.
    """
    if planned_seconds < LONG:
        return ""
    sizes = {name: corpus_size(experiment, results, name) for names in experiment.needed_rows.values() for name in names}
    rates = {system: measured_rates(experiment, results, system) for system in experiment.needed_systems}
    device, seconds = device_of(experiment), 0.0
    for part in parts_of(experiment, results, sizes, rates):
        seconds += guessed_seconds(experiment, part, sizes[part.corpus], device) if part.seconds is None else part.seconds
    first = (
        f"-- try runs every system on 24 documents first, -- estimate has details: snakemake --cores all{configured} -- estimate"
    )
    return (
        f"All systems on all datasets take about {duration(seconds)} on {device.name} (guess). {first}" if seconds >= LONG else ""
    )


def job_work(experiment: Experiment, results: Path, jobs: Mapping[int, tuple[str, Mapping[str, str]]]) -> dict[int, Expected]:
    """Return by number the expected work of some jobs, from their rules and wildcards."""
    datasets = {wildcards["dataset"] for _, wildcards in jobs.values() if wildcards.get("dataset") in experiment.datasets}
    sizes = {name: corpus_size(experiment, results, name) for name in datasets}
    systems = {wildcards["system"] for _, wildcards in jobs.values() if wildcards.get("system") in experiment.systems}
    with_models = {name for name in systems if experiment.family(name).read_by_model}
    operations = device_of(experiment).operations if with_models else TWO_CORES
    paces = dict[tuple[str, str], float]()  # by rule and system
    for name in with_models:
        pace = _parameters(experiment, name) / STATED * TWO_CORES / operations
        paces |= {(stage.rule, name): pace for stage in experiment.family(name).stages}
    depths = {name: experiment.depth(name) for name in systems}
    expected = dict[int, Expected]()
    for job, (rule, wildcards) in jobs.items():
        size, system = sizes.get(wildcards.get("dataset", "")), wildcards.get("system", "")
        expected[job] = _expected(rule, size, depths.get(system, 0), paces.get((rule, system), 1.0))
    return expected


def _expected(rule: str, size: CorpusSize | None, depth: int, pace: float) -> Expected:
    """Return the expected work of a job; ``pace`` is the time of its model, relative to the one whose seconds stages state."""
    stage = STAGES.get(rule, Stage(rule))
    if size is None:
        return Expected(rule, START + stage.job)
    documents = size.documents / size.chunks if stage.chunked else float(size.documents)
    documents = min(documents, Training.documents) if rule == "train_encoder" else documents
    queries = size.queries / jobs_of(stage, size) if stage.blocked else size.queries
    read = stage.seconds(words=documents * size.words, queries=queries, rows=queries * min(depth, size.documents))
    compared = stage.seconds(pairs=documents * size.queries) - stage.job
    return Expected(rule, START + pace * read + compared, documents if rule in REPRESENTING else 0.0, rule == "evaluate_run")


def _parameters(experiment: Experiment, system: str) -> float:
    """Return the parameters of the model of a system, by the size of its weights; an average without a model here."""
    weights = [path for path in map(Path, experiment.model_files(system)) if path.suffix in (".safetensors", ".bin", ".onnx")]
    return sum(path.stat().st_size for path in weights) / BYTES or PARAMETERS
