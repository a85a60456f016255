"""Results of systems that are made from the runs of others, in this process, by the functions that the rules call."""

import shutil
from pathlib import Path

from beirflow.evaluation.measures import measure
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files import layout
from beirflow.files.records import Job
from beirflow.fusion.fuse_runs import fuse_runs
from beirflow.jobs.code_version import code_version
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import ModelSettings
from beirflow.rerank.rerank_run import rerank_run
from beirflow.rerank.score_pairs import Scoring, score_pairs
from by_name import call
from results_maker import Made, average, evaluate, write_summary

SYSTEMS = {
    "fused": {"family": "fusion", "of": ["tiny", "second"], "method": "rrf"},
    "reranked": {"family": "rerank", "first": "second", "depth": 5, "below": "keep", "model": "tiny"},
}


def make_results_of_runs(original: Made, folder: Path) -> Made:
    """The same results with a fused and a reranked system, for which alone one of the two systems of before is needed."""
    shutil.copytree(original.results, folder / "results")
    custom = original.config["custom"]
    custom = {**custom, "systems": {**custom["systems"], **SYSTEMS}}
    made = Made(folder / "results", {**original.config, "systems": ["tiny", *SYSTEMS], "custom": custom})
    results, experiment = made.results, load_experiment(made.config)
    shutil.rmtree(results / "metrics/second")
    model = ModelSettings(**experiment.model_settings("reranked"))
    record = str(results / layout.MODEL(system="reranked"))
    fetch_model(system=model, said=experiment.said("reranked"), output_path=record, job=Job(results, code="f"))
    for name in experiment.chosen_datasets:
        _fuse(results, experiment, name)
        _rerank(results, experiment, name)
        for system in SYSTEMS:
            evaluate(results, experiment, system, name)
    for system in SYSTEMS:
        for row in set(experiment.rows_of_forums) & set(experiment.chosen_rows):
            average(results, experiment, system, row)
    write_summary(results, experiment)
    return made


def _paths(results: Path, system: str, name: str) -> dict[str, str]:
    names = {"system": system, "dataset": name}
    (results / layout.RUN(**names)).parent.mkdir(exist_ok=True)
    return {"run_path": str(results / layout.RUN(**names)), "record_path": str(results / layout.RUN_RECORD(**names))}


def _fuse(results: Path, experiment: Experiment, name: str) -> None:
    call(
        fuse_runs,
        settings=experiment.systems["fused"].settings,
        system=experiment.systems["fused"].settings.name,
        dataset=name,
        run_paths=[_paths(results, system, name)["run_path"] for system in ("tiny", "second")],
        corpus_path=str(results / layout.CORPUS(dataset=name)),
        tuned_on=None,
        measure=measure,
        main_measure="NDCG@10",
        top_k=experiment.config["top_k"],
        **_paths(results, "fused", name),
        job=Job(results, f"fuse_runs/fused/{name}", code_version("fuse_runs")),
    )


def _rerank(results: Path, experiment: Experiment, name: str) -> None:
    """In two blocks."""
    settings = experiment.systems["reranked"].settings.for_dataset(experiment.datasets[name].whole_row)
    first, corpus = _paths(results, "second", name)["run_path"], str(results / layout.CORPUS(dataset=name))
    pairs = [str(results / layout.PAIRS(system="reranked", dataset=name, block=block)) for block in range(2)]
    for block, path in enumerate(pairs):
        call(
            score_pairs,
            scoring=Scoring(settings, str(results / layout.MODEL(system="reranked")), precision="float32", device="cpu"),
            first_run_path=first,
            queries_path=str(results / layout.QUERIES(dataset=name)),
            documents_path=str(results / layout.DOCUMENTS(dataset=name)),
            block=block,
            blocks=len(pairs),
            output_path=path,
            job=Job(results, f"score_pairs/reranked/{name}/block-{block}", code_version("score_pairs")),
        )
    call(
        rerank_run,
        settings=settings,
        system=settings.name,
        dataset=name,
        first_run_path=first,
        pairs_paths=pairs,
        corpus_path=corpus,
        top_k=experiment.config["top_k"],
        **_paths(results, "reranked", name),
        job=Job(results, f"rerank_run/reranked/{name}", code_version("rerank_run")),
    )
