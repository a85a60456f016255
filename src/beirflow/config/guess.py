"""A guess at the time of systems and jobs that have not run here: from parameters of models, tokens, and the name of the device.

It is right within a factor of a few: rates of one GPU were measured, those of others are in proportion to their data sheets, and
a model that is not on this machine has an average size.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from beirflow.config.datasets import CorpusSize, corpus_size
from beirflow.config.expected_cost import ADDING, STAGES, Part, jobs_of, measured_rates, parts_of
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.core.errors import ConfigError, DeviceError
from beirflow.data.catalogue.schema import nearest
from beirflow.families.family import Stage
from beirflow.families.form import kinds
from beirflow.run.gpus import AMPLE_MIB, list_gpus
from beirflow.run.overall import LONG, START, Expected, duration

PARAMETERS = 1.1e8  # parameters of a model that is not on this machine: those of BERT base
BYTES = 4.0  # bytes of a parameter in a file of weights


class Sheet(NamedTuple):
    """What the data sheet of a GPU states, for dense matrices."""

    half: float  # operations a second in bfloat16, or in float16 where it has no bfloat16, with sums in float32
    single: float  # operations a second in float32
    bandwidth: float  # bytes a second of its memory
    memory: float  # bytes of its memory
    bfloat16: bool = True


MEASURED = "H200"  # the GPU of docs/gpus.md
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

SHARE = 0.22
"""Operations a second of encoders, over those of the data sheet: 0.307 of 723.5 TFLOP/s, on 989, on the H200 of docs/gpus.md.

In float32 its matrix products reach 51 of 67 TFLOP/s, and 0.307 of these are 0.23: the same.
"""

CORE = 1.5e11  # operations a second of a core of a CPU: all-MiniLM-L6-v2 on two cores
TWO_CORES = 2 * CORE  # of the machine whose seconds stages state
STATED = 2.2e7  # parameters of the model whose seconds stages state, all-MiniLM-L6-v2

ON = re.compile(r"(?:(?P<number>[1-9]\d{0,3})\s*[x×*]?\s+|(?P<times>[1-9]\d{0,3})\s*[x×*]\s*)?(?P<name>.+)", re.IGNORECASE)
CPU = re.compile(r"cpu:(?P<cores>[1-9]\d{0,3})", re.IGNORECASE)

REPRESENTING = {family.represents.rule for family in FAMILIES.values() if family.represents}  # whose documents progress counts


class Device(NamedTuple):
    """The device of encoders, and of exact searches if it is a GPU."""

    name: str
    operations: float  # that encoders do in a second, on one of them
    sheet: Sheet | None = None  # of a GPU
    gpus: int = 1  # how many of them

    @property
    def source(self) -> str:
        """Describe where its rates are from, with the numbers."""
        if self.sheet is None:
            return f"{CORE / 1e12:.2f} TFLOP/s a core, that of all-minilm-l6-v2 on two cores"
        memory, rate = f"{self.sheet.bandwidth / 1e12:.2g} TB/s", f"{self.operations / 1e12:,.3g} TFLOP/s"
        return f"{rate} and {memory}, from its data sheet by what an H200 reached (docs/gpus.md)"

    @property
    def jobs(self) -> int:
        """Number of jobs that compute on such GPUs at a time, as :func:`~beirflow.run.gpus.jobs_that_fit`."""
        ample = self.sheet is not None and self.sheet.memory >= AMPLE_MIB * 2**20
        return self.gpus * (2 if ample else 1)

    def stage(self, stage: Stage) -> Stage:
        """Return a stage with the seconds of a pair on this device: a search on a GPU waits for its memory."""
        if self.sheet is None or stage.pair_on_gpu is None:
            return stage
        return replace(stage, pair=stage.pair_on_gpu * SHEETS[MEASURED].bandwidth / self.sheet.bandwidth)


def device_of(experiment: Experiment) -> Device:
    """Return the device on which encoders will run, as far as the configuration and nvidia-smi tell."""
    gpus = []
    with suppress(DeviceError):  # said by the jobs
        gpus = [] if experiment.config["device"] in ("cpu", "mps") else list_gpus()
    if gpus:
        name = gpus[0].name
        known = next((key for key in SHEETS if re.search(rf"\b{key}\b", name)), USUAL)
        return _gpu(name, SHEETS[known], experiment)
    cores = os.cpu_count() or 1
    return Device(f"this CPU with {cores} cores", cores * CORE)


class Machine(NamedTuple):
    """A machine elsewhere: so many GPUs of a name, or cores of a CPU if there is no name."""

    gpu: str | None
    number: int


def machine_named(text: str) -> Machine:
    """Return the machine that a text such as ``H100``, ``4xH100`` or ``cpu:16`` names; ConfigError if its rates are not known."""
    if cpu := CPU.fullmatch(text.strip()):
        return Machine(None, int(cpu["cores"]))
    match = ON.fullmatch(text.strip())
    by_letters = {_letters(name): name for name in SHEETS}
    known = by_letters.get(_letters(match["name"])) if match else None
    if match is None or known is None:
        near = nearest(match["name"] if match else text, SHEETS)
        names = f"{', '.join(SHEETS)}, several as in 4xH100, or a CPU by its cores as in cpu:16"
        raise ConfigError(f"estimate on {text!r}: no rate of it is known{near}; known are {names}")
    return Machine(known, int(match["number"] or match["times"] or 1))


def device_named(text: str, experiment: Experiment) -> Device:
    """Return the device of a machine elsewhere for an experiment.

    Raises ConfigError if its rates are not known, or the configuration uses no GPU.
    """
    machine = machine_named(text)
    if machine.gpu is None:
        return Device(f"a CPU with {machine.number} cores", machine.number * CORE)
    if experiment.config["device"] in ("cpu", "mps"):
        todo = "set device: auto, or leave 'on' out"
        raise ConfigError(f"estimate on {text!r}: the configuration has device: {experiment.config['device']}; {todo}")
    name = f"{machine.number} × {machine.gpu}" if machine.number > 1 else f"one {machine.gpu}"
    return _gpu(name, SHEETS[machine.gpu], experiment)._replace(gpus=machine.number)


def _letters(name: str) -> str:
    """Return a name without what people write differently."""
    return re.sub(r"[\s_-]|nvidia|geforce|tesla", "", name.lower())


def _gpu(name: str, sheet: Sheet, experiment: Experiment) -> Device:
    """Return a GPU with its operations in the configured precision; ``auto`` is float32 where there is no bfloat16."""
    precision = experiment.config["precision"]
    half = precision == "float16" or (sheet.bfloat16 and precision != "float32")
    return Device(name, SHARE * (sheet.half if half else sheet.single), sheet)


def guessed_seconds(experiment: Experiment, part: Part, size: CorpusSize, device: Device) -> float:
    """Return the seconds of a system on a corpus: models read and write tokens, and other stages take those of a typical machine.

    A model does two operations for each parameter and token. Of several GPUs, each has jobs of its own: chunks of documents, or
    blocks of queries.
    """
    family = experiment.family(part.system)
    rows = float(size.queries * min(experiment.depth(part.system), size.documents))
    words, queries = size.documents * size.words, float(size.queries)
    if family.read_by_model:  # its stages count what its model does
        words = queries = rows = 0.0
    pairs = float(size.queries) * size.documents
    at_once = min(device.gpus, max((jobs_of(stage, size) for stage in family.stages), default=1))
    others = part.jobs * START
    for stage in map(device.stage, family.stages):
        seconds = stage.seconds(words=words, pairs=pairs, queries=queries, rows=rows)
        others += seconds / (at_once if device.sheet and stage.pair_on_gpu is not None else 1)
    computed = 2 * _parameters(experiment, part.system) * (part.tokens or 0.0) / device.operations
    return (computed + _prepared_seconds(experiment, part, size) * TWO_CORES / device.operations) / at_once + others


def _prepared_seconds(experiment: Experiment, part: Part, size: CorpusSize) -> float:
    """Return the seconds that two cores need for what models add to documents, and for the model that is made for the corpus."""
    form = experiment.form(part.system)
    words = min(size.documents, form.documents if form else size.documents) * size.words
    added = experiment.expansions.of_system(part.system)
    rules = [rule for kind, rule in ADDING.items() if {*added} & {*experiment.expansions.of_kind(kind)}]
    made = form.stage.seconds(words=words) if form and part.done < 1 else 0.0
    return made + sum(STAGES[rule].seconds(words=part.added * words) for rule in rules)


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
    device = device_of(experiment) if with_models else Device("two cores", TWO_CORES)
    paces = dict[tuple[str, str], float]()  # by rule and system
    for name in with_models:
        pace = _parameters(experiment, name) / STATED * TWO_CORES / device.operations
        paces |= {(stage.rule, name): pace for stage in experiment.family(name).stages}
    depths = {name: experiment.depth(name) for name in systems}
    expected = dict[int, Expected]()
    for job, (rule, wildcards) in jobs.items():
        size, system = sizes.get(wildcards.get("dataset", "")), wildcards.get("system", "")
        expected[job] = _expected(rule, size, depths.get(system, 0), paces.get((rule, system), 1.0), device)
    return expected


def _expected(rule: str, size: CorpusSize | None, depth: int, pace: float, device: Device) -> Expected:
    """Return the expected work of a job; ``pace`` is the time of its model, relative to the one whose seconds stages state."""
    stage = device.stage(STAGES.get(rule, Stage(rule)))
    if size is None:
        return Expected(rule, START + stage.job)
    documents = size.documents / size.chunks if stage.chunked else float(size.documents)
    documents = min([documents, *(kind.most_documents for kind in kinds() if kind.stage.rule == rule)])
    queries = size.queries / jobs_of(stage, size) if stage.blocked else size.queries
    read = stage.seconds(words=documents * size.words, queries=queries, rows=queries * min(depth, size.documents))
    compared = stage.seconds(pairs=documents * size.queries) - stage.job
    return Expected(rule, START + pace * read + compared, documents if rule in REPRESENTING else 0.0, rule == "evaluate_run")


def _parameters(experiment: Experiment, system: str) -> float:
    """Return the parameters of the model of a system, by the size of its weights; an average without a model here."""
    weights = [path for path in map(Path, experiment.model_files(system)) if path.suffix in (".safetensors", ".bin", ".onnx")]
    return sum(path.stat().st_size for path in weights) / BYTES or PARAMETERS
