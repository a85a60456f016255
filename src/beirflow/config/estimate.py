"""The estimate of a run before it starts: downloads, disk, jobs and hours of the missing results.

Hours are a guess (:mod:`.hours`), which the records of a system on this machine correct. Sizes of corpora are known, or those of
the BEIR paper; bytes are measured if a chunk of a system is stored here, and otherwise typical of its family.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.config.datasets import CorpusSize, corpus_size
from beirflow.config.experiment import MOST_THREADS, Experiment
from beirflow.config.hours import Device, blocks, device_named, device_of, seconds_of
from beirflow.core.layout import EXPANSION_RECORD, METRICS, SUMMARY, record_of
from beirflow.core.patterns import Pattern
from beirflow.core.records import read_json
from beirflow.families.expansions.models import makers
from beirflow.run.overall import START, duration

CORPUS_BYTES = 4.0  # of a prepared corpus for each word: 3.7 on NFCorpus, 3.9 on SciFact
MODEL_BYTES = 5e8  # of an encoder that is not here yet
CANDIDATE_BYTES, RUN_BYTES = 12.0, 8.0  # of a document of a query, before and after the merge
SPILL_BYTES = 7.0  # of a text during its preparation, for each word

OWN_SECONDS = ("fuse", "rerank", "evaluate")  # of a system made from other runs, whose records repeat the seconds of these


@dataclass(frozen=True)
class Part:
    """Work that is left of one system on one corpus; none once it is evaluated."""

    system: str  # its name
    corpus: str  # name of the corpus
    done: float = 1.0  # share of the chunks that are encoded or indexed already
    jobs: int = 0  # jobs, without those that prepare the corpus
    seconds: float = 0.0  # until it is evaluated, one job after another
    index: float = 0.0  # bytes of the stored representation of the documents


class Plan:
    """The work that is left of an experiment; ``on`` names a machine elsewhere, for which all hours are a guess."""

    def __init__(self, experiment: Experiment, results: Path, on: str | None = None) -> None:
        self.experiment, self.results = experiment, results
        self.device: Device = device_named(on, experiment) if on else device_of(experiment)
        names = dict.fromkeys(name for _, name in experiment.needed_runs)
        self.sizes = {name: corpus_size(experiment, results, name) for name in names}
        paces = {} if on else {system: self._pace(system) for system in experiment.needed_systems}
        self.paces = {system: pace for system, pace in paces.items() if pace}
        made = set[tuple[str, str]]()
        runs = sorted(experiment.needed_runs, key=lambda run: experiment.needed_systems.index(run[0]))
        self.parts = [self._part(system, self.sizes[name], made) for system, name in runs]

    @property
    def unfinished(self) -> list[Part]:
        """Parts that are not evaluated yet."""
        return [part for part in self.parts if part.done < 1 or part.jobs]

    def _part(self, system: str, size: CorpusSize, made: set[tuple[str, str]]) -> Part:
        """Return what is left of a system; ``made`` has what earlier systems represent or add, by corpus, and gets its own."""
        if self._metrics(system, size.name).is_file():
            return Part(system, size.name)
        there, whole, left = (self.stored_by(system), size.name) in made, self._jobs(system, size), dict[str, int]()
        share = 0.0 if there else 1 - len(self._chunk_records(system, size)) / size.chunks
        represents = {stage.rule for stage in self.experiment.family(system).stages if stage.represents}
        expansions = dict(self._expansions(system))
        for rule, number in whole.items():
            left[rule] = round(number * share) if rule in represents else number
            if added := expansions.get(rule):
                paths = (EXPANSION_RECORD(expansion=added, dataset=size.name, chunk=chunk) for chunk in range(size.chunks))
                missing = sum(not (self.results / path).is_file() for path in paths)
                left[rule] = missing if share and (added, size.name) not in made else 0
        made |= {(each, size.name) for each in (self.stored_by(system), *expansions.values())}
        seconds = self.paces.get(system, 1.0) * self._seconds(system, size, left) + sum(left.values()) * START
        index = 0.0 if there else self._expected_bytes(system, size.documents, size) * self._stored(system)
        return Part(system, size.name, 0.0 if there else 1 - share, sum(left.values()), seconds, index)

    def _jobs(self, system: str, size: CorpusSize) -> dict[str, int]:
        """Count the jobs of a system on a corpus by rule, were nothing there."""
        family, form = self.experiment.family(system), self.experiment.form(system)
        stages = (stage for stage in family.stages if "dataset" in stage.wildcards and not stage.of_variants)
        counts = {
            stage.rule: size.chunks if "chunk" in stage.wildcards else blocks(size) if "block" in stage.wildcards else 1
            for stage in stages
        }
        more = [*([form.rule] if form else []), *([] if family.direct else ["merge_chunks"]), "evaluate_run"]
        return {rule: size.chunks for rule, _ in self._expansions(system)} | counts | dict.fromkeys(more, 1)

    def _seconds(self, system: str, size: CorpusSize, jobs: Mapping[str, int]) -> float:
        """Return the seconds of so many jobs of rules; of several GPUs, each has jobs of its own."""
        whole, computing = self._jobs(system, size), {stage.rule for stage in self.experiment.family(system).stages if stage.gpu}
        seconds = 0.0
        for rule, number in jobs.items():
            at_once = min(self.device.gpus, max(1, number)) if rule in computing else 1
            seconds += seconds_of(self.experiment, rule, system, size, self.device) * number / whole[rule] / at_once
        return seconds

    def _pace(self, system: str) -> float:
        """Return the seconds that a system took here, over those in the table; 0 if it has not run."""
        took = thought = 0.0
        for name, size in self.sizes.items():
            if (path := self._metrics(system, name)).is_file():
                direct = self.experiment.family(system).direct
                seconds = read_json(path)["seconds"].items()
                took += sum(value for stage, value in seconds if not direct or stage in OWN_SECONDS)
                thought += self._seconds(system, size, self._jobs(system, size))
        return took / thought if thought else 0.0

    def _stored(self, system: str) -> float:
        """Return the bytes of all stored chunks of a system relative to those that its family expects; 1 without a chunk."""
        measured = expected = 0.0
        for size in self.sizes.values():
            records = map(read_json, self._chunk_records(system, size))
            for record in (each for each in records if "index" in each.get("bytes", {})):
                measured += record["bytes"]["index"]
                expected += self._expected_bytes(system, record["rows"], size)
        return measured / expected if expected else 1.0

    def _expected_bytes(self, system: str, documents: int, size: CorpusSize) -> float:
        settings = self.experiment.systems[system].settings
        return self.experiment.family(system).stored_bytes(settings, documents, size.words)

    def _metrics(self, system: str, corpus: str) -> Path:
        return self.results / METRICS(system=system, dataset=corpus)

    def _chunk_records(self, system: str, size: CorpusSize) -> list[Path]:
        """Return the existing records of the chunks of a corpus that are encoded or indexed for a system."""
        names = {**self.experiment.in_paths(system, size.name), "dataset": size.name}
        chunked = [pattern for pattern in self.searched(system) if "{chunk}" in pattern][:1]
        paths = (self.results / record_of(pattern(**names, chunk=chunk)) for pattern in chunked for chunk in range(size.chunks))
        return [path for path in paths if path.is_file()]

    def _expansions(self, system: str) -> list[tuple[str, str]]:
        """Return the rule that makes what models add to the documents of a system, and its name; empty if nothing is added."""
        expansions = self.experiment.expansions
        of_kinds = ((maker.rule, expansions.of_kind(kind)) for kind, maker in makers().items())
        return [(rule, name) for rule, names in of_kinds for name in expansions.of_system(system) if name in names]

    def searched(self, system: str) -> tuple[Pattern, ...]:
        """Return the representations that a system searches."""
        return self.experiment.family(system).searched(self.experiment.systems[system].settings)

    def stored_by(self, system: str) -> str:
        """Return the folder of the representations of a system; its name if it stores none."""
        names = self.experiment.family(system).in_paths(self.experiment.systems[system].settings)
        return next((pattern.folder(**names) for pattern in self.searched(system)), system)

    @property
    def downloads(self) -> dict[str, int]:
        """Bytes of the archives that are not here, by name; forums of a dataset share one."""
        return {size.archive: size.download for size in self.sizes.values()}


def highest_disk(plan: Plan, cores: int) -> dict[str, float]:
    """Return the peak of bytes written and not yet deleted, by kind, beyond those there now; their sum is an upper bound.

    ``cores`` are those of the machine: if a job takes all, a chunk is searched before another is encoded.
    """
    config, sizes = plan.experiment.config, plan.sizes
    words = [size.documents * size.words for size in sizes.values() if not size.prepared]
    archives = sorted(plan.downloads.values(), reverse=True)
    kept = {name: float(size.queries * min(config["top_k"], size.documents)) for name, size in sizes.items()}
    merged = [part.corpus for part in plan.unfinished if part.system in plan.experiment.merged_systems]
    return {
        # An archive is deleted once its corpora are prepared, while the next is downloaded.
        "archives": float(sum(archives if config["keep_archives"] else archives[:2])),
        "corpora": sum(words) * CORPUS_BYTES + max(words, default=0.0) * SPILL_BYTES,
        "models": _model_bytes(plan),
        "representations": _representations(plan, cores),
        # Candidates are deleted after the merge, so those of one corpus at a time count.
        "candidates": max((kept[name] * sizes[name].chunks for name in merged), default=0.0) * CANDIDATE_BYTES,
        "runs": sum(kept[part.corpus] for part in plan.unfinished) * RUN_BYTES,
    }


def _model_bytes(plan: Plan) -> float:
    """Return the bytes of models that are made for datasets, and those that the largest needs while it is made."""
    sizes, spare = [0.0], [0.0]
    for part in plan.unfinished:
        if form := plan.experiment.forms.get(part.system):
            files = plan.experiment.model_files(part.system)
            sizes.append(float(sum(Path(file).stat().st_size for file in files)) or MODEL_BYTES)
            spare.append(form.spare * sizes[-1])
    return sum(sizes) + max(spare)


def _representations(plan: Plan, cores: int) -> float:
    """Return the bytes of vectors, postings and weights that are on the disk together."""
    experiment = plan.experiment
    if experiment.config["keep_representations"]:
        return sum(part.index * (1 - part.done) for part in plan.unfinished)
    # What needs something of the whole corpus, such as its statistics, keeps every chunk until all are searched.
    together = {
        plan.stored_by(name)
        for name in experiment.needed_systems
        if any("{chunk}" not in pattern for pattern in plan.searched(name))
    }
    shared = {other for name in experiment.chosen_datasets if (other := experiment.shared_with(name))}
    whole, chunks = 0.0, [0.0]
    for part in plan.unfinished:
        if plan.stored_by(part.system) in together or (experiment.reuses(part.system) and part.corpus in shared):
            whole += part.index
        else:
            chunks.append(part.index / plan.sizes[part.corpus].chunks)
    # Chunks of the jobs at work, and the one that is written next.
    return whole + (1 if cores <= MOST_THREADS else cores // MOST_THREADS + 1) * max(chunks)


def estimate(*, experiment: Experiment, results: Path, configured: str = "", on: str | None = None) -> str:
    """Estimate the cost of the remaining jobs of the whole experiment, as text for the terminal.

    ``configured`` is how the command line named the configuration, for the commands in the text. ``on`` is a machine elsewhere,
    as in :func:`~beirflow.config.hours.machine_named`.
    """
    plan, command = Plan(experiment, results, on), f"snakemake --cores all{configured}"
    device, new = plan.device, [size for size in plan.sizes.values() if not size.prepared]
    disk = highest_disk(plan, device.jobs * MOST_THREADS if on else os.cpu_count() or 1)
    seconds = sum(part.seconds for part in plan.parts)
    seconds += sum(seconds_of(experiment, "prepare_corpus", "", size, device) for size in new)
    jobs = sum(part.jobs for part in plan.parts) + len(new) + sum(map(bool, plan.downloads.values())) + 1
    guessed = [system for system in dict.fromkeys(part.system for part in plan.unfinished) if system not in plan.paces]
    kinds = ", ".join(f"{name} {_bytes(value)}" for name, value in disk.items() if value >= 0.5e6)
    prices = _prices(experiment, seconds, sum(part.index for part in plan.parts))
    resources = f" --resources gpu={device.jobs}" if on and device.gpus > 1 else ""
    lines = [
        "Datasets",
        _dataset_table(plan),
        "\nSystems on all datasets: remaining work",
        _system_table(plan),
        f"\nDownload: {_bytes(sum(plan.downloads.values()))}{_models(plan)}.",
        f"Jobs: {jobs:,} with the summary.",
        f"Time: {duration(seconds)} on {device.name}, one job after another on each GPU or on the CPU, without downloads.",
        f"It is a guess within a factor of a few for {', '.join(guessed)}." if guessed else "",
        f"Bill: {', '.join(f'{name} {price}' for name, price in prices.items())}." if prices else "",
        f"Disk: at most {_bytes(sum(disk.values()))} more{f' ({kinds})' if kinds else ''}{'.' if on else _free(plan, disk)}",
        f"To measure on the smallest dataset: {command} -- {_smallest(plan, guessed)}" if guessed and not on else "",
        f"To run it{' there' if on else ''}: {command}{resources} -- {results}/{SUMMARY}",
    ]
    return "\n{}\n".format("\n".join(line for line in lines if line))


def _models(plan: Plan) -> str:
    """Return the systems whose models come from a hub, for the end of a sentence; those in its cache included."""
    experiment, on_hub = plan.experiment, list[str]()
    for name in dict.fromkeys(part.system for part in plan.unfinished):
        added = [each for each in experiment.expansions.of_system(name) if not experiment.expansions.files(each)]
        family = experiment.family(name)
        with_model = family.has_model or any(stage.downloads for stage in family.stages)
        on_hub += [name] if added or (with_model and not experiment.model_files(name)) else []
    return f", and the models of {', '.join(on_hub)} where they are not here yet" if on_hub else ""


def _dataset_table(plan: Plan) -> str:
    table = pd.DataFrame(map(asdict, plan.sizes.values())).rename(columns={"name": "dataset"})
    formats: dict[str, Any] = dict.fromkeys(("documents", "queries"), "{:,}".format)
    formats |= {"download": _bytes, "prepared": {True: "yes", False: "no"}.get}
    shown = ["dataset", "documents", "queries", "chunks", "download", "prepared"]
    return table.to_string(index=False, columns=shown, formatters=formats)


def _system_table(plan: Plan) -> str:
    sums = {"done": "mean", "index": "sum", "jobs": "sum", "seconds": "sum"}
    rows = []
    for system, row in pd.DataFrame(map(asdict, plan.parts)).groupby("system", sort=False).agg(sums).iterrows():
        time = f"{duration(row.seconds)}{'' if system in plan.paces else ' (guess)'}"
        shown = {
            "system": system,
            "done": f"{row.done:.0%}",
            "index": _bytes(row["index"]),
            "jobs": f"{row.jobs:,.0f}",
            "time": time,
        }
        prices = _prices(plan.experiment, row.seconds, row["index"])
        rows.append(shown | {f"price of {name}": price for name, price in prices.items()})
    return pd.DataFrame(rows).to_string(index=False)


def _prices(experiment: Experiment, seconds: float, stored: float) -> dict[str, str]:
    """Return what hours, and bytes kept for a month, cost at the prices of the configuration; nothing without a price."""
    of_each = {"time": ("hour", seconds / 3600), "a month of indexes": ("gigabyte_month", stored / 1e9)}
    prices = experiment.config["prices"]
    return {name: f"{prices[key] * amount:,.2f}" for name, (key, amount) in of_each.items() if key in prices}


def _smallest(plan: Plan, systems: Sequence[str]) -> str:
    """Return the scores of systems on the smallest dataset, as a shell writes them out."""
    smallest = min(plan.sizes.values(), key=lambda size: size.documents * size.words).name
    names = systems[0] if len(systems) == 1 else f"{{{','.join(systems)}}}"
    return f"{plan.results}/{METRICS(system=names, dataset=smallest)}"


def _free(plan: Plan, disk: Mapping[str, float]) -> str:
    """Describe the free bytes, and what to do where they are too few."""
    there = next(folder for folder in (plan.results, *plan.results.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(there).free
    keys = [key for key in ("keep_representations", "keep_archives") if plan.experiment.config[key]]
    todo = f"Set {' and '.join(f'{key}: false' for key in keys)}" if keys else "Choose fewer datasets"
    return f"; free here: {_bytes(free)}." + (
        f" THIS MAY NOT FIT. {todo}, or write elsewhere with results." if sum(disk.values()) >= free else ""
    )


def _bytes(value: float) -> str:
    if value < 0.5e6:
        return "0" if value < 1 else "< 1 MB"
    return f"{value / 1e6:,.0f} MB" if value < 0.9995e9 else f"{value / 1e9:,.1f} GB"
