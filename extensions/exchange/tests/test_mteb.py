"""Results in the forms of MTEB: what was measured and nothing else, under its names."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import DataError
from beirflow.core.records import Job, write_record
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.extensions.exchange.layout import EVAL_RESULT, MODEL_INDEX, MTEB_RESULT, OWN_TASK
from beirflow.extensions.exchange.mteb import export_mteb, revision, write_model_index
from beirflow.extensions.exchange.own_tasks import LANGUAGES, WRITTEN
from beirflow.ranking.measures.all_measures import MEASURES
from beirflow.report.references import mteb_name
from refusals import problems_of
from results_writer import write_metrics
from workflow_runs import Workflow

VALUES = {"NDCG@10": [0.1, 0.4], "Recall@100": [1.0, 0.5], "MRR@1": [1.0, 0.0], "Hole@10": [0.3, 0.3], "Accuracy@5": [1.0, 1.0]}


def exported(folder: Path, dataset: str = "scifact", *, official: bool | None = True, **means: Any) -> dict[str, Any]:
    """The results of a system on a task."""
    means_path, _ = write_metrics(folder, "bm25", dataset, VALUES, official_data=official, **means)
    corpus = folder / layout.CORPUS(dataset=dataset)
    corpus.parent.mkdir(parents=True, exist_ok=True)
    digests = {"corpus.jsonl": "c" * 64, "qrels/test.tsv": "a" * 64}
    write_record(corpus, Job(folder), inputs={}, outputs={}, source_sha256=digests)
    task = load_catalogue().mteb[dataset]
    path = folder / MTEB_RESULT(system="bm25", task=task.name)
    export_mteb(
        task=task.name,
        languages=[LANGUAGES[task.language]],
        means_path=means_path,
        corpus_paths=[str(corpus)],
        result_path=str(path),
    )
    return json.loads(path.read_text())


def test_a_result_has_the_measures_that_mteb_knows_and_says_of_the_rest_that_it_is_not_known(tmp_path: Path) -> None:
    digests = {"corpus.jsonl": "c" * 64, "qrels/test.tsv": "a" * 64}
    measures = {"ndcg_at_10": 0.25, "recall_at_100": 0.75, "mrr_at_1": 0.5, "hit_rate_at_5": 1.0, "main_score": 0.25}
    assert exported(tmp_path) == {
        "dataset_revision": revision([{"source_sha256": digests}]),
        "task_name": "SciFact",
        "mteb_version": None,
        "scores": {"test": [{**measures, "hf_subset": "default", "languages": ["eng-Latn"]}]},
        "evaluation_time": 63.0,
        "kg_co2_emissions": None,
        "date": None,
    }


def test_what_was_evaluated_is_named_by_its_files_and_not_by_a_revision_of_the_hub() -> None:
    one = revision([{"source_sha256": {"b": "22", "a": "11"}}])
    assert one == "beir-sha256-416ccbb108242872963558d2b2800ec8cc6d6c2b62ec0ce35f6a0ae486adbfaa"  # printf '11  a\n22  b\n'
    assert one == revision([{"source_sha256": {"a": "11"}}, {"source_sha256": {"b": "22"}}])
    assert one != revision([{"source_sha256": {"a": "12", "b": "22"}}])


def test_other_data_and_other_cutoffs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="scifact was not evaluated on the data of BEIR"):
        exported(tmp_path, official=False)
    with pytest.raises(DataError, match=r"has NDCG@5, and the main score of MTEB is NDCG@10; add 10 to the cutoffs"):
        exported(tmp_path, measures={"NDCG@5": 0.5})


def test_a_model_index_has_every_task_in_percent_and_names_what_is_left_out(tmp_path: Path) -> None:
    for dataset in ("scifact", "cqadupstack"):
        exported(tmp_path, dataset)
    tasks = {task.name: task.dataset for task in load_catalogue().mteb.values()}
    paths = [str(tmp_path / MTEB_RESULT(system="bm25", task=task)) for task in ("SciFact", "CQADupstackRetrieval")]
    index = tmp_path / MODEL_INDEX(system="bm25")
    on_hub = [str(tmp_path / EVAL_RESULT(system="bm25", task="SciFact"))]  # the other has several corpora
    facts = {
        "system": "bm25",
        "datasets": tasks,
        "left_out": ["mine", "nq.sample-5"],
        "own": ["MineRetrieval"],
        "index_path": str(index),
    }
    write_model_index(result_paths=paths, eval_result_paths=on_hub, **facts)
    assert "# Left out, not a task of MTEB: mine, nq.sample-5.\n" in index.read_text()
    name, results = model_index_to_eval_results(yaml.safe_load(index.read_text())["model-index"])
    assert name == "bm25"
    combined = ("CQADupstackRetrieval_is_a_combined_dataset", "MTEB CQADupstackRetrieval")
    assert {(each.dataset_type, each.dataset_name) for each in results} == {("mteb/scifact", "MTEB SciFact"), combined}
    values = {(each.metric_type, each.metric_value) for each in results if each.dataset_split == "test"}
    assert values == {("main_score", 25.0), ("ndcg_at_10", 25.0), ("recall_at_100", 75.0)}
    (path,) = (index.parent / "eval_results").iterdir()
    found = parse_eval_result_entries(yaml.safe_load(path.read_text()))
    assert [(each.dataset_id, each.task_id, each.value) for each in found] == [
        ("mteb/scifact", "SciFact_default_test", 25.0),
        ("mteb/scifact", "SciFact", 25.0),
    ]
    assert "not on their copies" in found[0].notes
    with pytest.raises(DataError, match="no configured dataset is a task of MTEB, so there is nothing to say of mine"):
        write_model_index(result_paths=[], eval_result_paths=[], **facts)


def test_every_dataset_and_forum_of_the_catalogue_is_a_task_of_its_own_and_no_sample_or_other_split() -> None:
    catalogue = load_catalogue()
    names = {name for row, corpora in catalogue.datasets.items() for name in (row, *(corpus.name for corpus in corpora))}
    assert set(catalogue.mteb) == names
    assert len({task.name for task in catalogue.mteb.values()}) == len({task.dataset for task in catalogue.mteb.values()}) == 27
    assert {task.language for task in catalogue.mteb.values()} <= set(LANGUAGES)
    assert [name for name in MEASURES if mteb_name(f"{name}@10")] == ["NDCG", "MAP", "Recall", "P", "MRR", "Accuracy"]
    experiment = load_experiment({"systems": ["bm25"], "datasets": ["nfcorpus.dev", "scifact.sample-5", "cqadupstack"]})
    assert experiment.mteb_datasets[:2] == ["cqadupstack", "cqadupstack-android"]
    assert len(experiment.mteb_datasets) == 13


OWN = {"task": "MineRetrieval", "languages": ["deu-Latn"], "description": "Fragen zu Küchen", "category": "s2p"}


def test_a_dataset_of_ones_own_is_a_task_with_its_languages_category_and_metadata(finished_lexical: Workflow) -> None:
    finished_lexical.config["own_tasks"] = {"small": OWN | {"metadata": {"domains": ["Web"], "license": "mit"}}}
    index = MODEL_INDEX(system="tiny")
    results = [MTEB_RESULT(system="tiny", task="MineRetrieval"), OWN_TASK(task="MineRetrieval"), index]
    finished_lexical.run(*(f"results/{path}" for path in results))
    result, task = (json.loads(finished_lexical.result(path).read_text()) for path in results[:2])
    (scores,) = result["scores"]["test"]
    assert scores["languages"] == ["deu-Latn"]
    assert scores["main_score"] == finished_lexical.read("metrics/tiny/small.json")["measures"]["NDCG@10"]
    assert task == {
        "name": "MineRetrieval",
        "description": "Fragen zu Küchen",
        "type": "Retrieval",
        "category": "s2p",
        "modalities": ["text"],
        "dataset": {"path": "small", "revision": result["dataset_revision"]},
        "eval_splits": ["test"],
        "eval_langs": ["deu-Latn"],
        "main_score": "ndcg_at_10",
        "domains": ["Web"],
        "license": "mit",
    }
    assert set(WRITTEN) <= set(task)
    assert "# Tasks of our own, measured on our files: MineRetrieval.\n" in finished_lexical.result(index).read_text()


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ({"mine": OWN}, "own_tasks.mine: found 'mine'; there is no such dataset; describe it under custom.datasets"),
        ({"scifact": OWN}, "own_tasks.scifact: found 'scifact'; MTEB has it as SciFact; remove this"),
        ({"small": OWN | {"task": "SciFact"}}, "own_tasks.small.task: found 'SciFact'; this is the task of scifact; name yours"),
        (
            {"small": OWN | {"metadata": {"name": "x"}}},
            "own_tasks.small.metadata.name: found 'x'; this field follows from the others",
        ),
        (
            {"small": OWN | {"languages": ["English"]}},
            "own_tasks.small.languages: found 'English'; expected a language and its script",
        ),
        ({"small": OWN | {"category": "sentence"}}, "own_tasks.small.category: found 'sentence'; allowed are t2t, s2s, s2p, p2p"),
        ({"small": OWN | {"task": "a/b"}}, "own_tasks.small.task: found 'a/b'; expected a name of letters"),
    ],
    ids=["no dataset", "known", "name", "field", "language", "category", "path"],
)
def test_a_task_that_cannot_be_is_refused(tasks: dict[str, Any], says: str, small: Path) -> None:
    custom = {"datasets": {"small": {"path": str(small)}}}
    (problem,) = problems_of({"systems": ["bm25"], "datasets": ["small"], "custom": custom, "own_tasks": tasks})
    assert problem.startswith(says)


@pytest.mark.long
def test_mteb_reads_a_result_and_takes_it_for_its_task(tmp_path: Path) -> None:
    mteb = pytest.importorskip("mteb", reason="mteb is not installed: pip install mteb, in an environment of its own")
    exported(tmp_path)
    result = mteb.TaskResult.from_disk(tmp_path / MTEB_RESULT(system="bm25", task="SciFact"))
    assert result.validate_and_filter_scores().get_score() == 0.25
    for task in load_catalogue().mteb.values():
        found = mteb.get_task(task.name).metadata
        assert found.dataset["path"] == task.dataset or found.name == "CQADupstackRetrieval"
        assert set(found.eval_langs) == {LANGUAGES[task.language]}
