"""A whole folder of results, made in this process by the functions that the rules call, in seconds."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from beirflow.analysis.inspection import inspect_dataset
from beirflow.catalogue.schema import CATALOGUE
from beirflow.datasets.matching import match_texts
from beirflow.datasets.prepare import prepare_corpus
from beirflow.dense.encode import Encoding, encode_chunk, encode_queries
from beirflow.dense.search import search_chunk
from beirflow.evaluation.cost import collect_costs
from beirflow.evaluation.evaluate import average_forums, evaluate_run
from beirflow.evaluation.manifest import write_manifest
from beirflow.evaluation.scores import collect_scores
from beirflow.evaluation.significance import compare_systems
from beirflow.evaluation.summary import summarize
from beirflow.evaluation.systems import describe_systems
from beirflow.experiment.asked import corpus_of
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files import layout
from beirflow.files.digests import file_digest
from beirflow.files.records import Job, read_json, write_json, write_record
from beirflow.jobs.entrance import call_entrance
from beirflow.jobs.provenance import REPOSITORY
from beirflow.jobs.snakemake_internals.rule_jobs import rule_jobs
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings, ModelSettings
from beirflow.paper.page import write_paper
from beirflow.report.exports import export_tables
from beirflow.report.figure_tables import write_figure_tables
from beirflow.report.registry import FIGURE_TABLES, FIGURES, PAPER_FIGURES, PAPER_TABLES
from beirflow.report.report import write_report
from beirflow.runs.merge import merge_chunks
from beirflow.runs.run_file import write_trec
from by_name import call
from latencies import write_latency
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


def make_results(results: Path, config: Mapping[str, Any]) -> None:
    """Everything that ``snakemake results/summary.csv`` would leave, but logs and benchmarks; and one run in TREC form."""
    experiment = load_experiment(config)
    for name in experiment.chosen_datasets:
        prepare(results, experiment, name)
    for system in experiment.chosen_systems:
        (results / "models").mkdir(exist_ok=True)
        model = ModelSettings(**experiment.model_settings(system))
        fetch_model(
            system=model, said=experiment.said(system), output_path=f"{results}/models/{system}.json", job=Job(results, code="f")
        )
        for name in experiment.chosen_datasets:
            _encode(results, experiment, system, name)
            _retrieve(results, experiment, system, name)
        for row in experiment.rows_of_forums:
            if row in experiment.chosen_rows:
                average(results, experiment, system, row)
    shutil.rmtree(results / "candidates")
    first = experiment.chosen_systems[0]
    name = experiment.chosen_datasets[0]
    run, queries = f"{results}/runs/{first}/{name}", f"{results}/corpora/{name}/queries.parquet"
    paths = {"run_path": f"{run}.parquet", "record_path": f"{run}.json", "output_path": f"{run}.trec.gz"}
    write_trec(**paths, queries_path=queries, tag=first)
    write_summary(results, experiment)


def make_report(results: Path, experiment: Experiment) -> None:
    """The files for reading, with figures that are none; an order of systems and corpora as the rules have it."""
    names = [(system, name) for system in experiment.chosen_systems for name in experiment.chosen_datasets]
    rows = [f"{results}/metrics/{system}/{row}.json" for system in experiment.chosen_systems for row in experiment.chosen_rows]
    means, per_query = ([f"{results}/metrics/{system}/{name}.{kind}" for system, name in names] for kind in ("json", "parquet"))
    job, corpora = Job(results), experiment.chosen_rows
    tables = {name: f"{results}/{name}" for name in ("significance.csv", "uncertainty.csv", "cost.csv")}
    collect_scores(means_paths=means, per_query_paths=per_query, scores_path=f"{results}/scores.parquet", job=job)
    compare_systems(
        means_paths=means,
        per_query_paths=per_query,
        rows=corpora,
        averages=experiment.averages,
        comparison_path=tables["significance.csv"],
        uncertainty_path=tables["uncertainty.csv"],
    )
    records = [f"{results}/runs/{system}/{name}.json" for system, name in names]
    collect_costs(means_paths=means, record_paths=records, rows=corpora, costs_path=tables["cost.csv"], job=job)
    settings = {name: experiment.described(name) for name in experiment.chosen_systems}
    describe_systems(systems=settings, record_paths=records, systems_path=f"{results}/systems.csv", job=job)
    for name in experiment.chosen_datasets:
        _inspect(results, experiment, name)
    for folder in ("figures", "tables"):
        (results / folder).mkdir()
    export_tables(
        summary_path=f"{results}/summary.csv",
        comparison_path=tables["significance.csv"],
        uncertainty_path=tables["uncertainty.csv"],
        systems_path=f"{results}/systems.csv",
        baseline=experiment.baseline,
        results=results,
    )
    for figure in FIGURES:
        (results / f"figures/{figure}.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><desc>{figure}</desc></svg>')
    write_figure_tables(means_paths=rows, costs_path=tables["cost.csv"], blocks=experiment.blocks, folder=f"{results}/figures")
    call(
        write_report,
        summary_path=f"{results}/summary.csv",
        means_paths=[*rows, *means],
        inspection_paths=[f"{results}/inspection/{name}.json" for name in experiment.chosen_datasets],
        comparison_path=tables["significance.csv"],
        uncertainty_path=tables["uncertainty.csv"],
        costs_path=tables["cost.csv"],
        systems_path=f"{results}/systems.csv",
        baseline=experiment.baseline,
        figure_paths=[f"{results}/figures/{figure}.svg" for figure in FIGURES],
        manifest_path=f"{results}/manifest.json",
        report_path=f"{results}/report.html",
        other_paths=[
            *(f"{results}/scores.parquet", *(f"{results}/figures/{name}.csv" for name in FIGURE_TABLES)),
            *map(str, (results / "tables").iterdir()),
        ],
        job=job,
    )


def make_paper(results: Path, experiment: Experiment) -> None:
    """The tables of the BEIR paper and their page, with figures that are none."""
    latencies = [write_latency(results, name, corpus_of(experiment)) for name in experiment.chosen_systems]
    words = [layout.PAPER_WORDS(dataset=name) for name in experiment.chosen_datasets]
    tables = sorted(PAPER_TABLES, key=lambda name: name == "claims")  # which reads others
    run_rules(results, experiment, [*words, *(layout.PAPER_TABLE(table=name) for name in tables)])
    for name in PAPER_FIGURES:
        for pattern in (layout.PAPER_FIGURE_PDF, layout.PAPER_FIGURE_SVG):
            (results / pattern(figure=name)).write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><desc>{name}</desc></svg>')
    write_paper(
        folder=f"{results}/paper",
        other_paths=[*(str(results / path) for path in words), *map(str, latencies)],
        manifest_path=f"{results}/manifest.json",
        page_path=f"{results}/paper/index.html",
        record_path=f"{results}/paper/index.json",
        job=Job(results),
    )


def run_rules(results: Path, experiment: Experiment, paths: Sequence[str]) -> None:
    """Make files, and what they are made from where it is missing, by the entrances of their rules, each job once."""
    done = set()
    with rule_jobs(REPOSITORY / "Snakefile", experiment, results) as rules:

        def make(path: str) -> None:
            job = rules.job(path)
            assert job, path
            if tuple(job.output) in done:
                return
            done.add(tuple(job.output))
            for name in (name.removeprefix(f"{results}/") for name in job.input if not Path(name).exists()):
                make(name)
            for output in job.output:
                Path(output).parent.mkdir(parents=True, exist_ok=True)
            names = (f"{key}-{value}" if key in ("chunk", "block") else value for key, value in job.wildcards.items())
            call_entrance(job, Job(results, "/".join([job.rule, *names]), job.params.code))

        for path in paths:
            make(path)


def _inspect(results: Path, experiment: Experiment, name: str) -> None:
    corpus, systems = f"{results}/corpora/{name}", experiment.chosen_systems
    call(
        inspect_dataset,
        dataset=name,
        documents_path=f"{corpus}/documents.parquet",
        queries_path=f"{corpus}/queries.parquet",
        run_paths=[f"{results}/runs/{system}/{name}.parquet" for system in systems],
        means_paths=[f"{results}/metrics/{system}/{name}.json" for system in systems],
        per_query_paths=[f"{results}/metrics/{system}/{name}.parquet" for system in systems],
        output_path=f"{results}/inspection/{name}.json",
        job=Job(results),
    )


def average(results: Path, experiment: Experiment, system: str, row: str) -> None:
    """The metrics of one system on a dataset of forums, from those of its forums as they are now."""
    paths = [f"{results}/metrics/{system}/{forum}.json" for forum in experiment.rows_of_forums[row]]
    means_path = f"{results}/metrics/{system}/{row}.json"
    average_forums(dataset=row, forum_paths=paths, means_path=means_path, job=Job(results, code="a"))


def add_invented_family(results: Path, experiment: Experiment) -> None:
    """A system ``words`` of a family that no code knows: its records are all that there is of it."""
    for name in experiment.chosen_datasets:
        _invent(results, experiment, name)
    for row in experiment.rows_of_forums:
        if row in experiment.chosen_rows:
            average(results, experiment, "words", row)
    manifest = read_json(results / "manifest.json")
    manifest["systems"]["words"] = {"name": "words", "family": "invented", "settings": {"stemmer": None}}
    manifest["configuration"]["systems"].append("words")
    means = {f"metrics/words/{row}.json": results / f"metrics/words/{row}.json" for row in experiment.chosen_rows}
    manifest["inputs"] |= {path: file_digest(file) for path, file in means.items()}
    summarize(means_paths=[str(results / path) for path in manifest["inputs"]], summary_path=str(results / "summary.csv"))
    write_json(results / "manifest.json", manifest | {"outputs": {"summary.csv": file_digest(results / "summary.csv")}})


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
        jobs=[job.name],
    )
    evaluate(results, experiment, "words", name)


def write_summary(results: Path, experiment: Experiment) -> None:
    """The summary and the manifest."""
    pairs = [(system, row) for system in experiment.chosen_systems for row in experiment.chosen_rows]
    paths = [f"{results}/metrics/{system}/{row}.json" for system, row in pairs]
    summarize(means_paths=paths, summary_path=f"{results}/summary.csv", trained_on=experiment.in_domain)
    write_manifest(
        means_paths=paths,
        summary_path=f"{results}/summary.csv",
        published_path=str(CATALOGUE / "published.yaml"),
        configured=experiment.configured,
        manifest_path=f"{results}/manifest.json",
        job=Job(results, code="s"),
    )


def prepare(results: Path, experiment: Experiment, name: str) -> None:
    """The corpus of a dataset."""
    folder = f"{results}/corpora/{name}"
    call(
        prepare_corpus,
        source_path=experiment.folder(name) or str(results / layout.HUB_DATASET(dataset=name)),
        **experiment.corpus_settings(name),
        documents_path=f"{folder}/documents.parquet",
        queries_path=f"{folder}/queries.parquet",
        job=Job(results, code="p"),
    )
    if other := experiment.shared_with(name):
        match_texts(
            documents_path=f"{folder}/documents.parquet",
            other_path=f"{results}/corpora/{other}/documents.parquet",
            output_path=f"{folder}/shared.parquet",
        )


def _encode(results: Path, experiment: Experiment, system: str, name: str) -> None:
    corpus, vectors = f"{results}/corpora/{name}", f"{results}/embeddings/{system}"
    settings = experiment.encoding(system, name)
    model_path = f"{results}/models/{system}.json"
    encoding = Encoding(EncoderSettings(**settings["encoder"]), model_path, precision=settings["precision"], device="cpu")
    job = Job(results, code="e")
    encode_queries(
        queries_path=f"{corpus}/queries.parquet", output_path=f"{vectors}/{name}/queries.npy", encoding=encoding, job=job
    )
    other = experiment.shared_with(name)
    shared = [f"{vectors}/{other}/chunk-{chunk}.npy" for chunk in range(experiment.chunks(other))] if other else []
    for chunk in range(experiment.chunks(name)):
        encode_chunk(
            documents_path=f"{corpus}/documents.parquet",
            chunk=chunk,
            shared_paths=[f"{corpus}/shared.parquet", *shared] if other else [],
            output_path=f"{vectors}/{name}/chunk-{chunk}.npy",
            encoding=encoding,
            job=job,
        )


def _retrieve(results: Path, experiment: Experiment, system: str, name: str) -> None:
    corpus, vectors = f"{results}/corpora/{name}", f"{results}/embeddings/{system}/{name}"
    candidates, chunks = f"{results}/candidates/{system}/{name}", range(experiment.chunks(name))
    for chunk in chunks:
        call(
            search_chunk,
            system=system,
            queries_path=f"{corpus}/queries.parquet",
            documents_path=f"{corpus}/documents.parquet",
            model_path=f"{results}/models/{system}.json",
            chunk=chunk,
            query_vectors_path=f"{vectors}/queries.npy",
            chunk_vectors_path=f"{vectors}/chunk-{chunk}.npy",
            output_path=f"{candidates}/chunk-{chunk}.npz",
            similarity=experiment.settings(system)["similarity"],
            **experiment.retrieval(name),
            device="cpu",
            job=Job(results, code="s"),
        )
    call(
        merge_chunks,
        system=system,
        dataset=name,
        candidate_paths=[f"{candidates}/chunk-{chunk}.npz" for chunk in chunks],
        queries_path=f"{corpus}/queries.parquet",
        documents_path=f"{corpus}/documents.parquet",
        top_k=experiment.config["top_k"],
        run_path=f"{results}/runs/{system}/{name}.parquet",
        record_path=f"{results}/runs/{system}/{name}.json",
        job=Job(results, code="m"),
    )
    evaluate(results, experiment, system, name)


def evaluate(results: Path, experiment: Experiment, system: str, name: str) -> None:
    """The metrics of one system on one corpus, from its run as it is now."""
    corpus = f"{results}/corpora/{name}"
    call(
        evaluate_run,
        system=system,
        dataset=name,
        run_path=f"{results}/runs/{system}/{name}.parquet",
        qrels_path=f"{corpus}/qrels.parquet",
        cutoffs=experiment.config["cutoffs"],
        per_query_path=f"{results}/metrics/{system}/{name}.parquet",
        means_path=f"{results}/metrics/{system}/{name}.json",
        job=Job(results, code="v"),
    )
