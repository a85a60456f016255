"""Measured speed of the systems on this machine, from earlier records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.evaluation.corpus_sizes import CorpusSize, corpus_size
from beirflow.experiment.datasets import BLOCK_QUERIES
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.families import FAMILIES
from beirflow.files.errors import DataError
from beirflow.files.layout import METRICS, RUN_RECORD
from beirflow.files.records import read_json

TOKENS_PER_WORD = 1.3
"""Of English in the vocabularies of common encoders; replaced by what was measured."""

BESIDES = ("fuse", "rerank", "evaluate")
"""Stages of a system that is made from the runs of others; its records repeat the other stages of these."""


@dataclass
class Rates:
    """What a system took for what.

    Attributes:
        seconds: By stage, seconds of a unit of its work, see :func:`work`.
        corpora: Names of the corpora that were measured.
        tokens_per_word: Tokens that a model read for each word of the texts; None where that is not known.
        index_bytes: Bytes stored for each unit of work of the index, and for each document.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    corpora: list[str] = field(default_factory=list)
    tokens_per_word: float | None = None
    index_bytes: tuple[float, float] | None = None


def read_words(settings: Mapping[str, Any], size: CorpusSize) -> float:
    """Words of a document that a system reads, at the mean: no more than its longest text has."""
    longest = settings.get("max_length")
    return min(size.words, longest / TOKENS_PER_WORD) if longest else size.words


def work(settings: Mapping[str, Any], size: CorpusSize, top_k: int) -> dict[str, float]:
    """How much a system has to do on a corpus, by stage.

    Args:
        settings: Those of the system.
        size: The corpus.
        top_k: Documents that a run keeps for each query.

    Returns:
        Units that seconds are proportional to: words, pairs of queries and documents, queries that a model writes, rows of the
        run, jobs.
    """
    depth = min(settings.get("depth") or 100, size.documents)
    rows = size.queries * min(top_k, size.documents)
    train = settings.get("train") or {}
    pairs = min(train.get("documents", 0), size.documents) * train.get("queries", 0)
    return {
        "load": size.chunks + 1,
        "queries": size.queries * size.query_words,
        "expand": pairs + added_units(settings, size),
        "train": pairs * train.get("epochs", 0),
        "index": size.documents * read_words(settings, size),
        "search": size.queries * size.documents,
        "merge": rows,
        "fuse": rows,
        "rerank": size.queries * depth * (read_words(settings, size) + size.query_words),
        "evaluate": rows,
    }


def added_units(settings: Mapping[str, Any], size: CorpusSize) -> float:
    """How much is added to the documents of a corpus: queries that are written, or words that are weighed; 0 where nothing is."""
    written, weighed = settings.get("expansion"), settings.get("weights")
    if written:
        return float(size.documents * written["queries"])
    return size.documents * read_words(weighed, size) if isinstance(weighed, Mapping) else 0.0


def jobs(family: str, size: CorpusSize, *, trained: bool = False) -> int:
    """Number of jobs of a system on a corpus, from the corpus to the metrics, without what a model adds to documents.

    Postings are those of one analyzer.
    """
    blocks = max(1, -(-size.queries // BLOCK_QUERIES))
    of_runs = {"fusion": 1, "run": 1, "rerank": blocks + 1}
    return (of_runs[family] if family in of_runs else 2 * size.chunks + 2) + trained + 1


def measured_rates(experiment: Experiment, results: Path, system: str) -> Rates:
    """What a system took here before.

    Args:
        experiment: Knows systems and corpora.
        results: The folder of all results, whose runs are looked at.
        system: Name of the system.

    Returns:
        Its rates; without corpora where it has not run here.
    """
    settings, rates = experiment.settings(system), Rates()
    direct = FAMILIES[experiment.systems[system].family].direct
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
        counted = {"tokens": record["tokens"], "words": done["index"] + done["queries"], "documents": size.documents}
        totals.update(counted | {"bytes": record["index_bytes"], "index": done["index"]})
    rates.seconds = {stage: value / units[stage] for stage, value in seconds.items() if units[stage]}
    if totals["tokens"]:
        rates.tokens_per_word = totals["tokens"] / totals["words"]
    if totals["bytes"]:
        rates.index_bytes = totals["bytes"] / totals["index"], totals["bytes"] / totals["documents"]
    return rates


def _finished(experiment: Experiment, results: Path, system: str) -> Iterable[tuple[str, dict[str, Any], CorpusSize]]:
    """Corpora on which a system was evaluated here, with what its records say."""
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
        found = {"seconds": evaluated["seconds"], "tokens": run.get("counts", {}).get("tokens", 0)}
        yield path.stem, found | {"index_bytes": run.get("bytes", {}).get("index", 0)}, size
