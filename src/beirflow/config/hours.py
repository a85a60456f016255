"""Guesses at hours, from one table: seconds of the rules on two cores, and what the data sheets of GPUs state.

Right within a factor of a few: rates of one GPU were measured, those of others are in proportion to their data sheets, and a
model that is not on this machine has an average size. What was measured here corrects them.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from beirflow.config.datasets import BLOCK_QUERIES, CorpusSize, corpus_size
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.core.errors import ConfigError, DeviceError
from beirflow.data.catalogue.schema import nearest
from beirflow.families.form import kinds
from beirflow.run.gpus import AMPLE_MIB, list_gpus
from beirflow.run.overall import START, Expected


class Rate(NamedTuple):
    """Seconds for a unit of a rule's work, in orders of magnitude."""

    unit: str  # words of documents, pairs of a query and a document, queries, rows of a run, or jobs
    seconds: float  # on two cores
    by_model: bool = False  # with all-MiniLM-L6-v2: other models take time by their parameters, and devices by their operations
    on_gpu: float | None = None  # on an H200, as tests/bench/results has it: a search there waits for the memory


RATES = {
    "prepare_corpus": Rate("words", 3e-7),
    "encode_queries": Rate("queries", 2e-3, by_model=True),
    "encode_chunk": Rate("words", 2e-4, by_model=True),
    "search_chunk": Rate("pairs", 2e-9, on_gpu=2.1e-10),
    "take_chunk_vectors": Rate("words", 1e-7),
    "search_vectors": Rate("pairs", 2e-9, on_gpu=2.1e-10),
    "write_queries": Rate("words", 5e-2, by_model=True),
    "weigh_words": Rate("words", 4e-4, by_model=True),
    "train_encoder": Rate("words", 4e-3, by_model=True),
    "index_chunk": Rate("words", 2e-6),
    "search_index": Rate("pairs", 2e-9),
    "weigh_queries": Rate("queries", 4e-3, by_model=True),
    "weigh_chunk": Rate("words", 4e-4, by_model=True),
    "search_weights": Rate("pairs", 2e-8),
    "encode_query_tokens": Rate("queries", 2e-3, by_model=True),
    "encode_tokens": Rate("words", 2e-4, by_model=True),
    "search_tokens": Rate("pairs", 3e-5, on_gpu=2e-8),
    "build_index": Rate("words", 1e-5),
    "search_approximate": Rate("queries", 2e-3),
    "score_pairs": Rate("rows", 2e-2, by_model=True),
    "fuse_runs": Rate("rows", 4e-6),
    "import_run": Rate("rows", 4e-6),
    "merge_chunks": Rate("rows", 2e-6),
    "evaluate_run": Rate("rows", 2e-6),
    "measure_latency": Rate("jobs", 60.0),
    "draw_figures": Rate("jobs", 6.0),
}
"""By rule; a job of any other takes no longer than its start."""

PARAMETERS = 1.1e8  # parameters of a model that is not on this machine: those of BERT base
BYTES = 4.0  # bytes of a parameter in a file of weights
STATED = 2.2e7  # parameters of all-MiniLM-L6-v2
CORE = 1.5e11  # operations a second of a core of a CPU with that model
SHARE = 0.22  # operations a second of encoders, over those of the data sheet: 0.307 of 723.5 TFLOP/s, on 989, on the H200


class Sheet(NamedTuple):
    """Figures of the data sheet of a GPU, for dense matrices."""

    half: float  # operations a second in bfloat16, or in float16 where it has no bfloat16, with sums in float32
    single: float  # operations a second in float32
    bandwidth: float  # bytes a second of its memory
    memory: float  # bytes of its memory
    bfloat16: bool = True


MEASURED = "H200"  # the GPU of tests/bench/results/nvidia-*
SHEETS: Mapping[str, Sheet] = {
    MEASURED: Sheet(9.89e14, 6.7e13, 4.8e12, 1.41e11),
    "H100": Sheet(9.89e14, 6.7e13, 3.35e12, 8e10),
    "A100": Sheet(3.12e14, 1.95e13, 2.04e12, 8e10),
    "L40S": Sheet(3.62e14, 9.16e13, 8.64e11, 4.8e10),
    "L40": Sheet(1.81e14, 9.05e13, 8.64e11, 4.8e10),
    "A40": Sheet(1.5e14, 3.74e13, 6.96e11, 4.8e10),
    "RTX 4090": Sheet(1.65e14, 8.26e13, 1.01e12, 2.4e10),
    "A10": Sheet(1.25e14, 3.12e13, 6e11, 2.4e10),
    "L4": Sheet(1.21e14, 3.03e13, 3e11, 2.4e10),
    "V100": Sheet(1.25e14, 1.57e13, 9e11, 3.2e10, bfloat16=False),
    "T4": Sheet(6.5e13, 8.1e12, 3e11, 1.6e10, bfloat16=False),
}
"""Data sheets of NVIDIA, by a part of the name of a GPU; H200, H100, A100 and V100 are those with SXM, the A100 that of 80 GB."""

USUAL = "A10"  # in place of a GPU that is not in the table

ON = re.compile(r"(?:(?P<number>[1-9]\d{0,3})x)?(?P<name>.+)", re.IGNORECASE)
CPU = re.compile(r"cpu:(?P<cores>[1-9]\d{0,3})", re.IGNORECASE)


class Device(NamedTuple):
    """The device of encoders, and of exact searches if it is a GPU."""

    name: str
    operations: float  # that encoders do in a second, on one of them
    sheet: Sheet | None = None  # of a GPU
    gpus: int = 1  # how many of them

    @property
    def jobs(self) -> int:
        """Number of jobs that compute on such GPUs at a time, as :func:`~beirflow.run.gpus.jobs_that_fit`."""
        ample = self.sheet is not None and self.sheet.memory >= AMPLE_MIB * 2**20
        return self.gpus * (2 if ample else 1)


def device_of(experiment: Experiment) -> Device:
    """Return the device on which encoders will run, as far as the configuration and nvidia-smi tell."""
    gpus = []
    with suppress(DeviceError):  # jobs report it
        gpus = [] if experiment.config["device"] in ("cpu", "mps") else list_gpus()
    if gpus:
        name = gpus[0].name
        known = next((key for key in SHEETS if re.search(rf"\b{key}\b", name)), USUAL)
        return _gpu(name, known, experiment)
    cores = os.cpu_count() or 1
    return Device(f"this CPU with {cores} cores", cores * CORE)


def machine_named(text: str) -> tuple[str | None, int]:
    """Return GPU and number of a text such as ``H100`` or ``4xH100``, None and cores for ``cpu:16``.

    Raises ConfigError if its rates are not known.
    """
    if cpu := CPU.fullmatch(text.strip()):
        return None, int(cpu["cores"])
    match = ON.fullmatch(text.strip())
    known = next((name for name in SHEETS if match and name.lower() == match["name"].lower()), None)
    if match is None or known is None:
        near = nearest(match["name"] if match else text, SHEETS)
        names = f"{', '.join(SHEETS)}, several as in 4xH100, or a CPU by its cores as in cpu:16"
        raise ConfigError(f"estimate on {text!r}: no rate of it is known{near}; known are {names}")
    return known, int(match["number"] or 1)


def device_named(text: str, experiment: Experiment) -> Device:
    """Return the device of a machine elsewhere for an experiment.

    Raises ConfigError if its rates are not known, or the configuration uses no GPU.
    """
    gpu, number = machine_named(text)
    if gpu is None:
        return Device(f"a CPU with {number} cores", number * CORE)
    if experiment.config["device"] in ("cpu", "mps"):
        todo = "set device: auto, or leave 'on' out"
        raise ConfigError(f"estimate on {text!r}: the configuration has device: {experiment.config['device']}; {todo}")
    return _gpu(f"{number} × {gpu}" if number > 1 else f"one {gpu}", gpu, experiment)._replace(gpus=number)


def _gpu(name: str, known: str, experiment: Experiment) -> Device:
    """Return a GPU with its operations in the configured precision; ``auto`` is float32 where there is no bfloat16."""
    sheet, precision = SHEETS[known], experiment.config["precision"]
    half = precision == "float16" or (sheet.bfloat16 and precision != "float32")
    return Device(name, SHARE * (sheet.half if half else sheet.single), sheet)


def seconds_of(experiment: Experiment, rule: str, system: str, size: CorpusSize, device: Device) -> float:
    """Return the seconds of all jobs of a rule for a system on a corpus, without their starts; ``system`` may be unknown."""
    rate = RATES.get(rule, Rate("jobs", 0.0))
    known = system in experiment.systems
    documents = min([size.documents, *(kind.most_documents for kind in kinds() if kind.rule == rule)])
    amounts = {
        "words": documents * size.words,
        "pairs": float(size.queries * size.documents),
        "queries": float(size.queries),
        "rows": float(size.queries * min(experiment.depth(system) if known else size.documents, size.documents)),
        "jobs": 1.0,
    }
    seconds = rate.seconds
    if rate.by_model:
        of_family = known and rule in (stage.rule for stage in experiment.family(system).stages)
        seconds *= (_parameters(experiment, system) / STATED if of_family else 1.0) * 2 * CORE / device.operations
    elif device.sheet and rate.on_gpu is not None:
        seconds = rate.on_gpu * SHEETS[MEASURED].bandwidth / device.sheet.bandwidth
    return seconds * amounts[rate.unit]


def _parameters(experiment: Experiment, system: str) -> float:
    """Return the parameters of the model of a system, by the size of its weights; an average without a model here."""
    weights = [path for path in map(Path, experiment.model_files(system)) if path.suffix in (".safetensors", ".bin", ".onnx")]
    return sum(path.stat().st_size for path in weights) / BYTES or PARAMETERS


def job_work(experiment: Experiment, results: Path, jobs: Mapping[int, tuple[str, Mapping[str, str]]]) -> dict[int, Expected]:
    """Return by number the expected work of some jobs, from their rules and wildcards."""
    datasets = {wildcards["dataset"] for _, wildcards in jobs.values() if wildcards.get("dataset") in experiment.datasets}
    sizes = {name: corpus_size(experiment, results, name) for name in datasets}
    by_model = any(RATES[rule].by_model or RATES[rule].on_gpu for rule, _ in jobs.values() if rule in RATES)
    device = device_of(experiment) if by_model else Device("two cores", 2 * CORE)
    represents = {stage.rule for family in FAMILIES.values() for stage in family.stages if stage.represents}
    whole, expected = dict[tuple[str, str, str], float](), dict[int, Expected]()
    for job, (rule, wildcards) in jobs.items():
        system, dataset = wildcards.get("system", ""), wildcards.get("dataset", "")
        if (size := sizes.get(dataset)) is None:
            rate = RATES.get(rule)
            expected[job] = Expected(rule, START + (rate.seconds if rate and rate.unit == "jobs" else 0.0))
            continue
        if (rule, system, dataset) not in whole:
            whole[rule, system, dataset] = seconds_of(experiment, rule, system, size, device)
        share = 1 / size.chunks if "chunk" in wildcards else 1 / blocks(size) if "block" in wildcards else 1.0
        documents = size.documents * share if rule in represents and "chunk" in wildcards else 0.0
        expected[job] = Expected(rule, START + share * whole[rule, system, dataset], documents, rule == "evaluate_run")
    return expected


def blocks(size: CorpusSize) -> int:
    """Return the number of blocks of queries of a corpus."""
    return max(1, -(-size.queries // BLOCK_QUERIES))
