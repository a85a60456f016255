"""The expected work of every job, so that progress counts work and not jobs."""

from collections.abc import Mapping
from pathlib import Path

from beirflow.experiment.corpus_sizes import CorpusSize, corpus_size
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.families import FAMILIES
from beirflow.experiment.measured_rates import jobs_of
from beirflow.jobs.overall import Expected
from beirflow.runs.family import Stage
from beirflow.training.settings import Training

START = 2.0
"""Fixed start-up time of a job, in seconds."""

SHARED = (
    Stage("prepare_corpus", word=3e-7),
    Stage("write_queries", chunked=True, word=5e-2),
    Stage("weigh_words", chunked=True, word=4e-4),
    Stage("train_encoder", word=4e-3),
    Stage("merge_chunks", row=2e-6),
    Stage("evaluate_run", row=2e-6),
    Stage("measure_latency", job=60.0),
)
"""Stages of no family, or of several."""

STAGES = {stage.rule: stage for stage in (*SHARED, *(stage for family in FAMILIES.values() for stage in family.stages))}
"""By rule."""

REPRESENTING = {family.represents.rule for family in FAMILIES.values() if family.represents}
"""Rules whose jobs turn documents into what is searched."""


def job_work(experiment: Experiment, results: Path, jobs: Mapping[int, tuple[str, Mapping[str, str]]]) -> dict[int, Expected]:
    """Return by number the expected work of some jobs, from their rules and wildcards."""
    names = {wildcards["dataset"] for _, wildcards in jobs.values() if wildcards.get("dataset") in experiment.datasets}
    sizes = {name: corpus_size(experiment, results, name) for name in names}
    top_k = experiment.config["top_k"]
    return {job: _expected(rule, sizes.get(wildcards.get("dataset", "")), top_k) for job, (rule, wildcards) in jobs.items()}


def _expected(rule: str, size: CorpusSize | None, top_k: int) -> Expected:
    stage = STAGES.get(rule, Stage(rule))
    if size is None:
        return Expected(rule, START + stage.job)
    documents = size.documents / size.chunks if stage.chunked else float(size.documents)
    documents = min(documents, Training.documents) if rule == "train_encoder" else documents
    seconds = stage.seconds(
        words=documents * size.words,
        pairs=documents * size.queries,
        queries=size.queries / jobs_of(stage, size) if stage.blocked else size.queries,
        rows=size.queries * min(top_k, size.documents),
    )
    return Expected(rule, START + seconds, documents if rule in REPRESENTING else 0.0, rule == "evaluate_run")
