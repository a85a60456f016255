"""The expected cost of every system on every corpus: its work, and its speed on this machine by earlier records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.config.datasets import BLOCK_QUERIES, CorpusSize, corpus_size
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.core.errors import DataError
from beirflow.core.extensions import extensions
from beirflow.core.layout import CORPUS, EXPANSION_RECORD, METRICS, RUN_RECORD, record_of
from beirflow.core.records import read_json
from beirflow.families.expansions.models import makers
from beirflow.families.family import TOKENS_PER_WORD, Family, Stage
from beirflow.families.form import form_in, kinds
from beirflow.run.overall import START

BESIDES = ("fuse", "rerank", "evaluate")  # stages of systems made from other runs, whose records repeat these runs' stages

SHARED = (
    Stage("prepare_corpus", word=3e-7),
    Stage("merge_chunks", row=2e-6),
    Stage("evaluate_run", row=2e-6),
    Stage("measure_latency", job=60.0),
    Stage("draw_figures", job=6.0),
    *(Stage(maker.rule, chunked=True, word=maker.word) for maker in makers().values()),
    *(kind.stage for kind in kinds()),
    *(Stage(rule, job=seconds) for extension in extensions() for rule, seconds in extension.seconds.items()),
)
"""Stages of no family, or of several."""

ADDING = {kind: maker.rule for kind, maker in makers().items()}
"""The rule of a model that adds something to documents, by what it adds."""

STAGES = {stage.rule: stage for stage in (*SHARED, *(stage for family in FAMILIES.values() for stage in family.stages))}
"""The stages of all jobs, by rule."""


@dataclass
class Rates:
    """Measured seconds and bytes of a system for each unit of its work."""

    seconds: dict[str, float] = field(default_factory=dict)  # by stage, seconds of a unit of its work, see :func:`work`
    corpora: list[str] = field(default_factory=list)  # names of the measured corpora
    tokens_per_word: float | None = None  # tokens that a model read for each word of the texts; None if unknown
    stored: float = 1.0  # measured bytes of chunks relative to those that the family expects; 1 until a chunk is stored


def read_words(settings: Mapping[str, Any], size: CorpusSize) -> float:
    """Return the words of a document that a system reads, at the mean: no more than its longest text has."""
    longest = settings.get("max_length")
    return min(size.words, longest / TOKENS_PER_WORD) if longest else size.words


def work(settings: Mapping[str, Any], size: CorpusSize, top_k: int) -> dict[str, float]:
    """Return the amount of a system's work on a corpus, by stage.

    Seconds are proportional to these units: words, pairs of queries and documents, queries that a model writes, rows of the run,
    jobs.
    """
    depth = min(settings.get("depth") or 100, size.documents)
    rows = size.queries * min(top_k, size.documents)
    of_form = form.work(size.documents) if (form := form_in(settings)) else {}
    words, scored = read_words(settings, size), size.queries * depth
    # A reranker with the settings of a system inside encodes each document once for a block of queries, and no pairs.
    apart = any(isinstance(value, Mapping) and "model" in value for value in settings.values())
    documents = min(scored, size.documents * -(-size.queries // BLOCK_QUERIES))
    of_pairs = documents * words + size.queries * size.query_words if apart else scored * (words + size.query_words)
    return {
        "load": size.chunks + 1,
        "queries": size.queries * size.query_words,
        "expand": added_units(settings, size),
        "index": size.documents * words,
        "search": size.queries * size.documents,
        "merge": rows,
        "fuse": rows,
        "rerank": of_pairs,
        "evaluate": rows,
    } | of_form


def added_units(settings: Mapping[str, Any], size: CorpusSize) -> float:
    """Return the number of additions to the documents of a corpus: written queries, or weighed words; 0 without any."""
    written, weighed = settings.get("expansion"), settings.get("weights")
    if written:
        return float(size.documents * written["queries"])
    return size.documents * read_words(weighed, size) if isinstance(weighed, Mapping) else 0.0


def jobs(family: Family, size: CorpusSize, *, formed: bool = False) -> int:
    """Count the jobs of a system on a corpus, from the corpus to the metrics, without what a model adds to documents."""
    merge, evaluate = not family.direct, 1
    return sum(jobs_of(stage, size) for stage in family.stages) + merge + formed + evaluate


def jobs_of(stage: Stage, size: CorpusSize) -> int:
    """Count the jobs of a stage on a corpus."""
    if stage.blocked:
        return max(1, -(-size.queries // BLOCK_QUERIES))
    return size.chunks if stage.chunked else 1


def measured_rates(experiment: Experiment, results: Path, system: str) -> Rates:
    """Return the rates of a system in its finished jobs here; without corpora if there are none."""
    settings, rates = experiment.settings(system), Rates()
    direct = experiment.family(system).direct
    seconds: Counter[str] = Counter()
    units: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for name, record, size in _finished(experiment, results, system):
        rates.corpora.append(name)
        done = work(settings, size, experiment.config["top_k"])
        for stage, value in record["seconds"].items():
            if stage in done and (not direct or stage in BESIDES):
                seconds[stage] += value
                units[stage] += done[stage]  # type: ignore[assignment]
        totals.update({"tokens": record["tokens"], "words": done["index"] + done["queries"]})
    rates.seconds = {stage: value / units[stage] for stage, value in seconds.items() if units[stage]}
    if totals["tokens"]:
        rates.tokens_per_word = totals["tokens"] / totals["words"]
    rates.stored = _stored(experiment, results, system)
    return rates


def chunk_records(experiment: Experiment, results: Path, system: str, size: CorpusSize) -> list[Path]:
    """Return the existing records of the chunks of a corpus that are encoded or indexed for a system."""
    searched = experiment.family(system).searched(experiment.systems[system].settings)
    patterns = [pattern for pattern in searched if "{chunk}" in pattern]
    if not patterns:
        return []
    names = {**experiment.in_paths(system, size.name), "dataset": size.name}
    paths = (results / record_of(patterns[0](**names, chunk=chunk)) for chunk in range(size.chunks))
    return [path for path in paths if path.is_file()]


def _stored(experiment: Experiment, results: Path, system: str) -> float:
    """Return the bytes of all stored chunks of a system relative to those that its family expects; 1 without a chunk."""
    family, settings = experiment.family(system), experiment.systems[system].settings
    measured = expected = 0.0
    for name in experiment.datasets:
        if not (results / CORPUS(dataset=name)).is_file():
            continue
        try:
            size = corpus_size(experiment, results, name)
            records = [read_json(path) for path in chunk_records(experiment, results, system, size)]
        except (DataError, OSError):  # of a file that is being written, or was edited
            continue
        sized = [record for record in records if "index" in record.get("bytes", {})]
        measured += sum(record["bytes"]["index"] for record in sized)
        rows = sum(record["rows"] for record in sized)
        expected += family.stored_bytes(settings, rows, size.words)
    return measured / expected if expected else 1.0


def _finished(experiment: Experiment, results: Path, system: str) -> Iterable[tuple[str, dict[str, Any], CorpusSize]]:
    """Yield the corpora on which a system was evaluated here, with seconds and tokens of their records."""
    for path in sorted(results.glob(RUN_RECORD(system=system, dataset="*"))):
        means = results / METRICS(system=system, dataset=path.stem)
        if path.stem not in experiment.datasets or not means.is_file():
            continue
        try:
            run, evaluated = read_json(path), read_json(means)
            size = corpus_size(experiment, results, path.stem)
        except (DataError, OSError):  # of a file that is being written, or was edited
            continue
        if run.get("counts", {}).get("documents_reused"):
            continue  # it encoded only some of its documents
        yield path.stem, {"seconds": evaluated["seconds"], "tokens": run.get("counts", {}).get("tokens", 0)}, size


@dataclass(frozen=True)
class Part:
    """Expected cost of one system on one corpus; zeros for finished work."""

    system: str  # its name
    row: str  # the dataset that the corpus belongs to
    corpus: str  # name of the corpus
    tokens: float | None  # tokens that a model will read; None in families that read words or nothing
    jobs: int  # jobs, without those that prepare the corpus
    seconds: float | None  # until it is evaluated, one job after another; None if the system has not run here
    index: float  # bytes of the stored representation of the documents
    done: float  # share of the chunks that are encoded or indexed already, 1 if the corpus is evaluated
    added: float = 0.0  # share of the chunks for which a model still has to write queries or weigh words


def parts_of(experiment: Experiment, results: Path, sizes: Mapping[str, CorpusSize], rates: Mapping[str, Rates]) -> list[Part]:
    """Return the expected costs of every system, needed ones included, on every corpus."""
    parts: list[Part] = []
    stored: set[tuple[str, str]] = set()
    for system in experiment.needed_systems:
        for row, names in experiment.needed_rows.items():
            for name in (name for name in names if (system, name) in experiment.needed_runs):
                place = stored_by(experiment, system), name
                added = [(each, name) for each in experiment.expansions.of_system(system)]
                missing = 0 if place in stored else _chunks_to_add(results, sizes[name], set(added) - stored)
                parts.append(_part(experiment, results, system, row, sizes[name], rates[system], place in stored, missing))
                if parts[-1].done < 1:
                    stored |= {place, *added}
    return parts


def _part(
    experiment: Experiment, results: Path, system: str, row: str, size: CorpusSize, rates: Rates, stored: bool, missing: int
) -> Part:
    """Return one part.

    ``stored`` is whether an earlier system stores its representations, such as the vectors of a variant; ``missing`` is the
    number of chunks for which a model still has to write expansions.
    """
    settings, family = experiment.settings(system), experiment.family(system)
    if (results / METRICS(system=system, dataset=size.name)).is_file():
        return Part(system, row, size.name, 0 if family.read_by_model else None, 0, 0.0, 0.0, 1.0)
    done = len(chunk_records(experiment, results, system, size)) / size.chunks
    if stored:
        done = 1.0
    fresh = 1 - done
    if experiment.reuses(system) and (other := experiment.shared_with(size.name, system)):
        # Texts that another dataset has too are not encoded again.
        fresh *= max(0.0, 1 - (experiment.documents(other) or 0) / size.documents)
    units = work(settings, size, experiment.config["top_k"])
    missing = missing if fresh else 0
    shares = {"index": fresh, "expand": missing / size.chunks}
    left = {stage: amount * shares.get(stage, 1.0) for stage, amount in units.items()}
    steps = max(1, jobs(family, size, formed=experiment.form(system) is not None) - round(done * size.chunks) - stored) + missing
    seconds = sum(rates.seconds.get(stage, 0.0) * amount for stage, amount in left.items()) + steps * START
    per_word = rates.tokens_per_word or TOKENS_PER_WORD
    tokens = sum(left[kind] for kind in family.read_by_model) * per_word if family.read_by_model else None
    made = experiment.systems[system].settings
    index = 0.0 if stored else family.stored_bytes(made, size.documents, size.words) * rates.stored
    known = seconds if rates.corpora else None
    return Part(system, row, size.name, tokens, steps, known, index, 0.0 if stored else done, shares["expand"])


def _chunks_to_add(results: Path, size: CorpusSize, added: Iterable[tuple[str, str]]) -> int:
    """Count the chunks of a corpus that lack an expansion, by names of expansion and corpus."""
    return sum(
        not (results / EXPANSION_RECORD(expansion=name, dataset=dataset, chunk=chunk)).is_file()
        for name, dataset in added
        for chunk in range(size.chunks)
    )


def stored_by(experiment: Experiment, system: str) -> str:
    """Return the folder of the representations of a system; its name if it stores none."""
    family, settings = experiment.family(system), experiment.systems[system].settings
    searched = family.searched(settings)
    return searched[0].folder(**family.in_paths(settings)) if searched else system
