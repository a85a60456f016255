"""A whole folder of results, made in this process by the functions that the rules call, in seconds."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from beirflow.datasets.matching import match_texts
from beirflow.datasets.prepare import prepare_corpus
from beirflow.dense.encode import Encoding, encode_chunk, encode_queries
from beirflow.dense.search import search_chunk
from beirflow.evaluation.evaluate import average_forums, evaluate_run
from beirflow.evaluation.summary import summarize
from beirflow.experiment.catalogue import CATALOGUE
from beirflow.experiment.experiment import Experiment, load_experiment
from beirflow.experiment.manifest import write_manifest
from beirflow.files.digests import file_digest
from beirflow.files.records import Job, read_json, write_json, write_record
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings, ModelSettings
from beirflow.runs.merge import merge_chunks
from beirflow.runs.run_file import write_trec
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
        _prepare(results, experiment, name)
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
    run = f"{results}/runs/{first}/{experiment.chosen_datasets[0]}"
    write_trec(run_path=f"{run}.parquet", record_path=f"{run}.json", output_path=f"{run}.trec.gz", tag=first)
    write_summary(results, experiment)


def average(results: Path, experiment: Experiment, system: str, row: str) -> None:
    """The metrics of one system on a dataset of forums, from those of its forums as they are now."""
    paths = [f"{results}/metrics/{system}/{forum}.json" for forum in experiment.rows_of_forums[row]]
    means_path = f"{results}/metrics/{system}/{row}.json"
    average_forums(dataset=row, forum_paths=paths, means_path=means_path, job=Job(results, code="a"))


def add_invented_family(results: Path, experiment: Experiment) -> None:
    """A system ``words`` on the dataset ``small``, of a family that no code knows: its records are all that there is of it."""
    corpus, postings = results / "corpora/small", results / "postings/words/small/chunk-0.npz"
    documents, queries, run = corpus / "documents.parquet", corpus / "queries.parquet", results / "runs/words/small.parquet"
    postings.parent.mkdir(parents=True)
    np.savez(postings, postings=np.arange(9))
    run.parent.mkdir(parents=True)
    shutil.copy(results / "runs/tiny/small.parquet", run)
    job = Job(results, "index_chunk/words/small/chunk-0", "i")
    read = {path: file_digest(path) for path in (documents, queries)}
    sources = {documents: read[documents]}
    written = {postings: file_digest(postings)}
    write_record(postings.with_suffix(".json"), job, inputs=sources, outputs=written, seconds={"index": 1.0}, sizes={"index": 9})
    record = {postings.with_suffix(".json"): file_digest(postings.with_suffix(".json"))}
    write_record(
        run.with_suffix(".json"),
        Job(results, "merge_chunks/words/small", "m"),
        inputs={**read, **written, **record},
        outputs={run: file_digest(run)},
        made={"tokenizer": "plain words"},
        seconds={"index": 1.0, "search": 2.0},
        sizes={"index": 9},
        counts={"self_matches_dropped": 0},
        system="words",
        dataset="small",
        top_k=experiment.config["top_k"],
        jobs=[job.name],
    )
    evaluate(results, experiment, "words", "small")
    manifest = read_json(results / "manifest.json")
    manifest["systems"]["words"] = {"name": "words", "family": "invented", "settings": {"stemmer": None}}
    manifest["inputs"]["metrics/words/small.json"] = file_digest(results / "metrics/words/small.json")
    summarize(means_paths=[str(results / path) for path in manifest["inputs"]], summary_path=str(results / "summary.csv"))
    write_json(results / "manifest.json", manifest | {"outputs": {"summary.csv": file_digest(results / "summary.csv")}})


def write_summary(results: Path, experiment: Experiment) -> None:
    """The summary and the manifest."""
    pairs = [(system, row) for system in experiment.chosen_systems for row in experiment.chosen_rows]
    paths = [f"{results}/metrics/{system}/{row}.json" for system, row in pairs]
    summarize(means_paths=paths, summary_path=f"{results}/summary.csv")
    write_manifest(
        means_paths=paths,
        summary_path=f"{results}/summary.csv",
        published_path=str(CATALOGUE / "published.yaml"),
        experiment=experiment,
        manifest_path=f"{results}/manifest.json",
        job=Job(results, code="s"),
    )


def _prepare(results: Path, experiment: Experiment, name: str) -> None:
    folder = f"{results}/corpora/{name}"
    prepare_corpus(
        source_path=str(experiment.folder(name)),
        **experiment.corpus_settings(name),
        documents_path=f"{folder}/documents.parquet",
        queries_path=f"{folder}/queries.parquet",
        qrels_path=f"{folder}/qrels.parquet",
        corpus_path=f"{folder}/corpus.json",
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
    encoding = Encoding(EncoderSettings(**settings["encoder"]), model_path, settings["precision"], device="cpu")
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
        search_chunk(
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
    merge_chunks(
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
    evaluate_run(
        system=system,
        dataset=name,
        run_path=f"{results}/runs/{system}/{name}.parquet",
        run_record_path=f"{results}/runs/{system}/{name}.json",
        qrels_path=f"{corpus}/qrels.parquet",
        corpus_path=f"{corpus}/corpus.json",
        cutoffs=experiment.config["cutoffs"],
        per_query_path=f"{results}/metrics/{system}/{name}.parquet",
        means_path=f"{results}/metrics/{system}/{name}.json",
        job=Job(results, code="v"),
    )
