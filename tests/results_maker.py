"""A whole folder of results, made in this process by the functions of the rules, in seconds."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import steps
from beirflow import SNAKEFILE
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.config.rule_inputs import corpus_of
from beirflow.core import layout
from beirflow.core.patterns import Pattern
from beirflow.core.records import Job
from beirflow.evaluation.evaluate import average_forums, evaluate_run
from beirflow.extensions.beir_paper import layout as paper
from beirflow.extensions.beir_paper import registry as of_paper
from beirflow.report.registry import functions
from beirflow.run.rules_of_snakefile import rule_jobs
from beirflow.run.scratch import Scratch
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


def make_results(results: Path, config: Mapping[str, Any]) -> Made:
    """Everything that ``snakemake results/summary.csv`` would leave, but logs and benchmarks; and one run in TREC form."""
    experiment = load_experiment(config)
    trec = layout.TREC_RUN(system=experiment.chosen_systems[0], dataset=experiment.chosen_datasets[0])
    run_rules(results, experiment, [layout.SUMMARY, trec])
    shutil.rmtree(results / "candidates")
    return Made(results, dict(config))


def with_systems(config: Config, own: Mapping[str, Mapping[str, Any]], **changes: Any) -> Config:
    """A configuration with more systems."""
    custom = config["custom"]
    systems = {"systems": [*config["systems"], *own], "custom": {**custom, "systems": {**custom["systems"], **own}}}
    return {**config, **systems, **changes}


def make_run(results: Path, config: Config, system: str, dataset: str = "small") -> Experiment:
    """Make the run of one system of a configuration, and what it is made from where it is missing."""
    experiment = load_experiment(config)
    run_rules(results, experiment, [layout.RUN(system=system, dataset=dataset)])
    return experiment


def make_report(results: Path, experiment: Experiment) -> None:
    """The report, with figures that are none."""
    _invent_figures(results, [(name, layout.FIGURE_SVG, layout.FIGURE_PDF) for name in functions("figure")])
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
    """Make files, and what they are made from where it is missing, by the rules, in this process."""
    with all_rules(results, experiment) as place:
        place.threads = threads
        for path in paths:
            place.again(path)


class Here(Scratch):
    """A folder of results that stays, in place of a scratch folder."""

    threads = 1  # of each job

    def run(self, job: Any) -> None:
        """Run a job, whose inputs are here."""
        job.threads = self.threads
        super().run(job)

    def again(self, path: str) -> None:
        """Make a file, also one that is here, and what it is made from where that is missing."""
        for name in self.inputs(self.job(path)):
            self.make(name)
        self.run(self.job(path))


@contextmanager
def all_rules(results: Path, experiment: Experiment) -> Iterator[Here]:
    """The jobs of all rules, whose files are parsed once."""
    parse_each_rule_file_once()
    with rule_jobs(SNAKEFILE, experiment, results) as rules:
        yield Here(rules, results)


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
