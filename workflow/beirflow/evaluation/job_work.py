"""The expected work of every job, so that progress counts work and not jobs."""

from collections.abc import Mapping
from pathlib import Path

from beirflow.evaluation.corpus_sizes import CorpusSize, corpus_size
from beirflow.experiment.experiment import Experiment
from beirflow.jobs.overall import Expected
from beirflow.training.settings import Training

START = 2.0
"""Seconds of every job beside its work."""

INDEXING = ("encode_chunk", "index_chunk", "weigh_chunk")
"""Rules whose jobs turn documents into what is searched."""

SECONDS_OF_A_WORD = {
    "prepare_corpus": 3e-7,
    "encode_chunk": 2e-4,
    "train_encoder": 4e-3,
    "weigh_chunk": 4e-4,
    "index_chunk": 2e-6,
    "sum_statistics": 1e-8,
}
SECONDS_OF_A_PAIR = {"search_chunk": 2e-9, "search_index": 2e-9, "search_weights": 2e-8}
SECONDS_OF_A_ROW = {"merge_chunks": 2e-6, "evaluate_run": 2e-6, "fuse_runs": 4e-6, "import_run": 4e-6, "rerank_run": 1e-6}
SECONDS_OF_A_QUERY = {"encode_queries": 2e-3, "weigh_queries": 4e-3, "score_pairs": 2.0}
SECONDS_OF_A_JOB = {"measure_latency": 60.0}
"""On two cores, in orders of magnitude: measured times correct them during the run."""


def job_work(experiment: Experiment, results: Path, jobs: Mapping[int, tuple[str, Mapping[str, str]]]) -> dict[int, Expected]:
    """What is expected of some jobs.

    Args:
        experiment: Knows the corpora.
        results: The folder of all results.
        jobs: By number of the job, its rule and its wildcards.

    Returns:
        By number, what is expected.
    """
    names = {wildcards["dataset"] for _, wildcards in jobs.values() if wildcards.get("dataset") in experiment.datasets}
    sizes = {name: corpus_size(experiment, results, name) for name in names}
    top_k = experiment.config["top_k"]
    return {job: _expected(rule, sizes.get(wildcards.get("dataset", "")), top_k) for job, (rule, wildcards) in jobs.items()}


def _expected(rule: str, size: CorpusSize | None, top_k: int) -> Expected:
    start = START + SECONDS_OF_A_JOB.get(rule, 0.0)
    if size is None:
        return Expected(rule, start)
    documents = size.documents / size.chunks if rule.endswith("_chunk") or rule.startswith("search_") else float(size.documents)
    documents = min(documents, Training.documents) if rule == "train_encoder" else documents
    seconds = (
        start
        + SECONDS_OF_A_WORD.get(rule, 0.0) * documents * size.words
        + SECONDS_OF_A_PAIR.get(rule, 0.0) * documents * size.queries
        + SECONDS_OF_A_ROW.get(rule, 0.0) * size.queries * min(top_k, size.documents)
        + SECONDS_OF_A_QUERY.get(rule, 0.0) * size.queries
    )
    return Expected(rule, seconds, documents if rule in INDEXING else 0.0, rule == "evaluate_run")
