"""A whole folder of results, made in this process by the entrances of the rules, in seconds."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from snakemake.iocontainers import Params

import steps
from beirflow import SNAKEFILE
from beirflow.config.asked import corpus_of
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.patterns import Pattern
from beirflow.core.records import Job, read_json, write_json, write_record
from beirflow.evaluation.evaluate import average_forums, evaluate_run
from beirflow.evaluation.summary import summarize
from beirflow.extensions.paper import layout as paper
from beirflow.extensions.paper import registry as of_paper
from beirflow.report.registry import FIGURES
from beirflow.run.entrance import call_entrance
from beirflow.run.rule_job import COMMAND
from beirflow.run.undocumented import RuleJobs, rule_jobs
from latencies import write_latency
from warm_snakemake import parse_each_rule_file_once
from workflow_runs import small_dataset, tiny_system

Config = dict[str, Any]


class Made(NamedTuple):
    """A folder of results that is not to be changed, and its configuration."""

    results: Path
    config: Config


def audit_config(folder: Path, model: Path) -> Config:
    """Two systems on a dataset, one that shares its texts, and two forums; the datasets are written."""
    small_dataset(folder / "small")
    small_dataset(folder / "more", 34, queries=5)
    for forum, documents, queries in (("android", 12, 3), ("tex", 25, 6)):
        small_dataset(folder / f"stack/{forum}", documents, queries)
    datasets = {
        "small": {"path": str(folder / "small")},
        "more": {"path": str(folder / "more"), "shares_texts_with": "small"},
        "stack": {"path": str(folder / "stack"), "forums": ["android", "tex"]},
    }
    systems = {"tiny": tiny_system(model), "second": tiny_system(model, pooling="cls", similarity="cosine")}
    return {
        "systems": list(systems),
        "datasets": list(datasets),
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 20,
        "top_k": 20,
        "cutoffs": [1, 10, 20],
        "custom": {"systems": systems, "datasets": datasets},
    }


def make_results(results: Path, config: Mapping[str, Any], threads: int = 1) -> Made:
    """Everything that ``snakemake results/summary.csv`` would leave, but logs and benchmarks; and one run in TREC form."""
    experiment = load_experiment(config)
    trec = layout.TREC_RUN(system=experiment.chosen_systems[0], dataset=experiment.chosen_datasets[0])
    run_rules(results, experiment, [layout.SUMMARY, trec], threads)
    shutil.rmtree(results / "candidates")
    return Made(results, dict(config))


def with_systems(config: Config, own: Mapping[str, Mapping[str, Any]], **changes: Any) -> Config:
    """A configuration with more systems."""
    custom = config["custom"]
    systems = {"systems": [*config["systems"], *own], "custom": {**custom, "systems": {**custom["systems"], **own}}}
    return {**config, **systems, **changes}


def make_run(results: Path, config: Config, system: str, dataset: str = "small", threads: int = 1) -> Experiment:
    """Make the run of one system of a configuration, and what it is made from where it is missing."""
    experiment = load_experiment(config)
    run_rules(results, experiment, [layout.RUN(system=system, dataset=dataset)], threads)
    return experiment


def make_report(results: Path, experiment: Experiment) -> None:
    """The report, with figures that are none."""
    _invent_figures(results, [(name, layout.FIGURE_SVG, layout.FIGURE_PDF) for name in FIGURES])
    run_rules(results, experiment, [layout.REPORT])


def make_paper(results: Path, experiment: Experiment) -> None:
    """The tables of the BEIR paper and their page, with figures that are none, of latencies that are invented."""
    _invent_figures(results, [(name, paper.FIGURE_SVG, paper.FIGURE_PDF) for name in of_paper.FIGURES])
    for name in experiment.chosen_systems:
        write_latency(results, name, corpus_of(experiment))
    run_rules(results, experiment, [paper.PAGE])


def _invent_figures(results: Path, figures: Sequence[tuple[str, Pattern, Pattern]]) -> None:
    for name, *patterns in figures:
        for path in (results / pattern(figure=name) for pattern in patterns):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><desc>{name}</desc></svg>')


def run_rules(results: Path, experiment: Experiment, paths: Sequence[str], threads: int = 1) -> None:
    """Make files, and what they are made from where it is missing, by the entrances of their rules, each job once."""
    done = set()
    with all_rules(results, experiment) as rules:

        def make(path: str) -> None:
            job = rules.job(path)
            assert job, path
            if tuple(job.output) in done:
                return
            done.add(tuple(job.output))
            for name in (name.removeprefix(f"{results}/") for name in job.input if not Path(name).exists()):
                make(name)
            run_job(results, job, threads)

        for path in paths:
            make(path)


@contextmanager
def all_rules(results: Path, experiment: Experiment) -> Iterator[RuleJobs]:
    """All rules, not only those of files for reading, which an audit reads."""
    parse_each_rule_file_once()
    reads_each = patch("beirflow.run.undocumented._makes_for_reading", return_value=True)
    with reads_each, rule_jobs(SNAKEFILE, experiment, results) as rules:
        yield rules


def run_job(results: Path, job: SimpleNamespace, threads: int = 1) -> None:
    """Make the files of one job of a rule, whose params go through a file as in a run."""
    params = {name: value for name, value in job.params.items() if name != COMMAND}
    job.params = Params(fromdict=json.loads(json.dumps(params)))
    for output in job.output:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
    job.threads = threads
    names = (f"{key}-{value}" if key in ("chunk", "block") else value for key, value in job.wildcards.items())
    call_entrance(job, Job(results, "/".join([job.rule, *names]), job.params.code))


def average(results: Path, experiment: Experiment, system: str, row: str) -> None:
    """The metrics of one system on a dataset of forums, from those of its forums as they are now."""
    paths = [f"{results}/metrics/{system}/{forum}.json" for forum in experiment.rows_of_forums[row]]
    steps.run(
        average_forums,
        Job(results, code="a"),
        [f"{results}/metrics/{system}/{row}.json"],
        forums=paths,
        system=system,
        dataset=row,
    )


def add_invented_family(results: Path, experiment: Experiment) -> None:
    """A system ``words`` of a family that no code knows: its records are all that there is of it."""
    for name in experiment.chosen_datasets:
        _invent(results, experiment, name)
    for row in experiment.rows_of_forums:
        if row in experiment.chosen_rows:
            average(results, experiment, "words", row)
    manifest = read_json(results / "manifest.json")
    manifest["systems"]["words"] = {"name": "words", "family": "invented", "settings": {"stemmer": None}, "trained_on": {}}
    manifest["configuration"]["systems"].append("words")
    means = {f"metrics/words/{row}.json": results / f"metrics/words/{row}.json" for row in experiment.chosen_rows}
    manifest["inputs"] |= {path: file_digest(file) for path, file in means.items()}
    paths, summary = [str(results / path) for path in manifest["inputs"]], results / "summary.csv"
    summarize(means_paths=paths, summary_path=str(summary), trained_on={})
    write_json(results / "manifest.json", manifest | {"outputs": {"summary.csv": file_digest(summary)}})


def _invent(results: Path, experiment: Experiment, name: str) -> None:
    corpus, postings = results / f"corpora/{name}", results / f"postings/words/{name}/chunk-0.npz"
    documents, queries, run = corpus / "documents.parquet", corpus / "queries.parquet", results / f"runs/words/{name}.parquet"
    postings.parent.mkdir(parents=True)
    np.savez(postings, postings=np.arange(9))
    run.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(results / f"runs/tiny/{name}.parquet", run)
    job, sizes = Job(results, f"invent_postings/words/{name}/chunk-0", "i"), {"index": postings.stat().st_size}
    read = {path: file_digest(path) for path in (documents, queries)}
    sources = {documents: read[documents]}
    written = {postings: file_digest(postings)}
    write_record(postings.with_suffix(".json"), job, inputs=sources, outputs=written, seconds={"index": 1.0}, sizes=sizes)
    record = {postings.with_suffix(".json"): file_digest(postings.with_suffix(".json"))}
    write_record(
        run.with_suffix(".json"),
        Job(results, f"invent_run/words/{name}", "m"),
        inputs={**read, **written, **record},
        outputs={run: file_digest(run)},
        made={"tokenizer": "plain words"},
        seconds={"index": 1.0, "search": 2.0},
        sizes=sizes,
        counts={"self_matches_dropped": 0},
        system="words",
        dataset=name,
        top_k=experiment.config["top_k"],
        settings={"stemmer": None},
        jobs=[job.name],
    )
    evaluate(results, experiment, "words", name)


def evaluate(results: Path, experiment: Experiment, system: str, name: str) -> None:
    """The metrics of one system on one corpus, from its run as it is now."""
    metrics = f"{results}/metrics/{system}/{name}"
    steps.run(
        evaluate_run,
        Job(results, code="v"),
        [f"{metrics}.parquet", f"{metrics}.json"],
        run=f"{results}/runs/{system}/{name}.parquet",
        qrels=f"{results}/corpora/{name}/qrels.parquet",
        cutoffs=experiment.config["cutoffs"],
        system=system,
        dataset=name,
    )
