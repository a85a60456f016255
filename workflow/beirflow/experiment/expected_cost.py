"""The expected cost of every system on every corpus, and the peak disk use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beirflow.experiment.datasets import CorpusSize
from beirflow.experiment.experiment import MOST_THREADS, Experiment
from beirflow.experiment.measured_rates import Rates, chunk_records, jobs, work
from beirflow.files.layout import EXPANSION_RECORD, METRICS
from beirflow.jobs.overall import START
from beirflow.runs.family import TOKENS_PER_WORD

CORPUS_BYTES = 4.0  # of a prepared corpus for each word: 3.7 on NFCorpus, 3.9 on SciFact
MODEL_BYTES = 5e8  # of an encoder that is not here yet
CANDIDATE_BYTES, RUN_BYTES = 12.0, 8.0  # of a document of a query, before and after the merge
SPILL_BYTES = 7.0  # of a text during its preparation, for each word


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
                place = _stored_by(experiment, system), name
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
    number of chunks for which a model still has to write expansions or training queries.
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
    steps = max(1, jobs(family, size, trained=experiment.is_trained(system)) - round(done * size.chunks) - stored) + missing
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


def highest_disk(experiment: Experiment, sizes: Mapping[str, CorpusSize], parts: Sequence[Part], cores: int) -> dict[str, float]:
    """Return the peak of bytes written and not yet deleted, by kind, beyond those there now; their sum is an upper bound.

    ``cores`` are those of the machine: if a job takes all, a chunk is searched before another is encoded.
    """
    config, new = experiment.config, [size for size in sizes.values() if not size.prepared]
    archives = sorted({size.archive: size.download for size in sizes.values()}.values(), reverse=True)
    kept = {name: float(size.queries * min(config["top_k"], size.documents)) for name, size in sizes.items()}
    unfinished = [part for part in parts if part.done < 1]
    merged = [part.corpus for part in unfinished if part.system in experiment.merged_systems]
    return {
        # An archive is deleted once its corpora are prepared, while the next is downloaded.
        "archives": float(sum(archives if config["keep_archives"] else archives[:2])),
        "corpora": sum(size.documents * size.words for size in new) * CORPUS_BYTES
        + max((size.documents * size.words for size in new), default=0.0) * SPILL_BYTES,
        "models": _models(experiment, parts),
        "representations": _representations(experiment, sizes, parts, cores),
        # Candidates are deleted after the merge, so those of one corpus at a time count.
        "candidates": max((kept[name] * sizes[name].chunks for name in merged), default=0.0) * CANDIDATE_BYTES,
        "runs": sum(kept[part.corpus] for part in unfinished) * RUN_BYTES,
    }


def _models(experiment: Experiment, parts: Sequence[Part]) -> float:
    """Return the bytes of trained models, and of the checkpoint of the largest, which holds weights and two moments of each."""
    sizes = [0.0]
    for part in parts:
        if part.done < 1 and part.system in experiment.trained_systems:
            files = experiment.model_files(part.system)
            sizes.append(float(sum(Path(file).stat().st_size for file in files)) or MODEL_BYTES)
    return sum(sizes) + 3 * max(sizes)


def _representations(experiment: Experiment, sizes: Mapping[str, CorpusSize], parts: Sequence[Part], cores: int) -> float:
    """Return the bytes of vectors, postings and weights that are on the disk together."""
    new = [part for part in parts if part.done < 1]
    if experiment.config["keep_representations"]:
        return sum(part.index * (1 - part.done) for part in new)
    # What needs something of the whole corpus, such as its statistics, keeps every chunk until all are searched.
    together = {
        _stored_by(experiment, name)
        for name in dict.fromkeys(part.system for part in parts)
        if any("{chunk}" not in pattern for pattern in experiment.family(name).searched(experiment.systems[name].settings))
    }
    shared = {other for name in experiment.chosen_datasets if (other := experiment.shared_with(name))}
    whole, chunks = 0.0, [0.0]
    for part in new:
        reused = experiment.reuses(part.system) and part.corpus in shared
        if _stored_by(experiment, part.system) in together or reused:
            whole += part.index
        else:
            chunks.append(part.index / sizes[part.corpus].chunks)
    # Chunks of the jobs at work, and the one that is written next.
    return whole + (1 if cores <= MOST_THREADS else cores // MOST_THREADS + 1) * max(chunks)


def _stored_by(experiment: Experiment, system: str) -> str:
    """Return the folder of the representations of a system; its name if it stores none."""
    family, settings = experiment.family(system), experiment.systems[system].settings
    searched = family.searched(settings)
    return searched[0].folder(**family.in_paths(settings)) if searched else system
