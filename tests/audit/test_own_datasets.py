"""Datasets of the user's own in other forms than BEIR's are traced to their sources like any other."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import hf_hub_download
from sentence_transformers import SentenceTransformer, models

from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.replay.replay import SOURCES
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.digests import file_digest
from forger import Edit, Forger
from hub_datasets import OTHER_REVISION, REVISION, Hub, nano, put_parquet, use_cache
from results_maker import make_results, run_rules
from tiny_bert import save_tiny_bert
from workflow_runs import config_of, small_dataset, tiny_system, words

LABELS = {"good": 1, "bad": 0}


def write_judged(path: Path) -> Path:
    data = [{"summary": f"text {i}", "answer": "good" if i == 3 else "bad", "id": i} for i in range(5)]
    path.write_text("".join(json.dumps({"query": f"query {i}", "data": data[i : i + 3]}) + "\n" for i in (1, 2)))
    return path


def make(folder: Path, dataset: Mapping[str, Any], of_record: Edit | None = None) -> dict[str, Any]:
    """Results of one dataset and a run that ranks everything; their configuration.

    ``of_record`` changes the record of what was fetched from a hub before anything is made from it.
    """
    run, results = folder / "theirs.trec", folder / "results"
    config = {
        "systems": "theirs",
        "datasets": "own",
        "top_k": 10,
        "cutoffs": [1, 10],
        "custom": {"systems": {"theirs": {"run": str(run)}}, "datasets": {"own": dict(dataset)}},
    }
    run.touch()
    experiment = load_experiment(config)
    if of_record:
        run_rules(results, experiment, [layout.HUB_DATASET(dataset="own")])
        Forger(results).edit(layout.HUB_DATASET(dataset="own"), of_record)
    run_rules(results, experiment, [layout.CORPUS(dataset="own")])
    corpus = results / "corpora/own"
    ids, queries = (pq.read_table(corpus / f"{name}.parquet").column(0).to_pylist() for name in ("documents", "queries"))
    run.write_text("".join(f"{q} Q0 {d} {i} {-i} them\n" for q in queries for i, d in enumerate(ids, 1)))
    run_rules(results, experiment, [layout.SUMMARY])
    return config


def forger_of(folder: Path, config: Mapping[str, Any]) -> Forger:
    return Forger(folder / "results", load_experiment(config))


def of_source(checks: list[Check]) -> set[str]:
    """What checks say of corpora and their sources: the status of each."""
    found = [check for check in checks if check.name == SOURCES and "import_run" not in check.found]
    return {check.status for check in found if not any(path.startswith("runs/") for path in check.files)}


@pytest.fixture
def labelled(tmp_path: Path) -> dict[str, Any]:
    return make(tmp_path, {"path": str(write_judged(tmp_path / "judged.jsonl")), "form": "labelled", "labels": LABELS})


def test_labelled_documents_are_compared_with_their_file(tmp_path: Path, labelled: dict[str, Any]) -> None:
    forger = forger_of(tmp_path, labelled)
    assert (forger.noticed(), of_source(forger.checks())) == ([], {PASSED})
    path = Path(labelled["custom"]["datasets"]["own"]["path"])
    path.write_text(path.read_text().replace('"good"', '"bad"', 1))
    assert FAILED in of_source(forger.checks())
    labelled["custom"]["datasets"]["own"]["labels"] = {"good": 2, "bad": 0}
    assert any("labels of own" in check.found for check in forger_of(tmp_path, labelled).failed())


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The same of a dataset from a hub, which is not there any more."""
    with Hub({"z/Nano": nano(tmp_path / "nano")}, monkeypatch, tmp_path / "cache"):
        return make(tmp_path, {"hub": "z/Nano", "revision": REVISION, "split": "train"})


def test_a_dataset_of_a_hub_is_compared_with_what_was_fetched(
    tmp_path: Path, fetched: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    forger = forger_of(tmp_path, fetched)
    assert (forger.noticed(), of_source(forger.checks())) == ([], {PASSED})
    (path,) = (tmp_path / "cache").rglob("queries/*.parquet")
    path.resolve().write_bytes(path.read_bytes() + b" ")
    assert of_source(forger.checks()) == {FAILED}
    path.unlink()
    assert (forger.noticed(), of_source(forger.checks())) == ([], {NOT_CHECKED})
    use_cache(monkeypatch, tmp_path / "elsewhere")
    assert (forger.noticed(), of_source(forger.checks())) == ([], {NOT_CHECKED})
    fetched["custom"]["datasets"]["own"]["revision"] = OTHER_REVISION
    (check,) = forger_of(tmp_path, fetched).failed()
    assert REVISION in check.found


FEWER_DOCUMENTS = "corpus/train-00001-of-00002.parquet"
OTHER_JUDGEMENTS = "qrels/dev-00000-of-00001.parquet"


@pytest.mark.parametrize("forged", [FEWER_DOCUMENTS, OTHER_JUDGEMENTS])
def test_a_dataset_of_a_hub_has_the_files_of_its_layout_and_not_those_that_the_results_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    """The cache of the auditor has the whole dataset, and everything follows from the files that the record names."""
    put_parquet(nano(tmp_path / "nano") / OTHER_JUDGEMENTS, [{"query-id": "q1", "corpus-id": "d2"}])
    dataset = {"hub": "z/Nano", "revision": REVISION, "split": "train"}

    def forge(record: dict[str, Any]) -> None:
        if forged == FEWER_DOCUMENTS:
            del record["files"]["corpus"][forged]
        else:
            path = hf_hub_download("z/Nano", forged, repo_type="dataset", revision=REVISION)
            record["files"]["qrels"] = {forged: file_digest(path)}

    with Hub({"z/Nano": tmp_path / "nano"}, monkeypatch, tmp_path / "cache"):
        config = make(tmp_path, dataset, forge)
        hf_hub_download("z/Nano", FEWER_DOCUMENTS, repo_type="dataset", revision=REVISION)
    assert of_source(forger_of(tmp_path, config).checks()) == {FAILED}


def bright(folder: Path) -> Path:
    """A domain of BRIGHT, whose first query excludes two documents, one of which is not in the corpus."""
    put_parquet(folder / "documents/biology-00000-of-00001.parquet", [{"id": f"d{i}", "content": words(i, 5)} for i in range(8)])
    excluded = [["d2", "gone"], ["N/A"]]
    examples = [
        {"id": str(i), "query": words(90 + i, 4), "gold_ids": ["d1"], "excluded_ids": excluded[i]} for i in range(len(excluded))
    ]
    put_parquet(folder / "examples/biology-00000-of-00001.parquet", examples)
    return folder


def test_documents_that_queries_exclude_are_compared_with_the_source_and_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = {"hub": "z/BRIGHT", "revision": REVISION, "subset": "biology", "layout": "bright", "drop_self_matches": False}
    with Hub({"z/BRIGHT": bright(tmp_path / "bright")}, monkeypatch, tmp_path / "cache"):
        config = make(tmp_path, dataset)
    forger = forger_of(tmp_path, config)
    assert forger.noticed() == []
    run = pq.read_table(tmp_path / "results/runs/theirs/own.parquet").to_pylist()
    assert [sum(row["query_id"] == query for row in run) for query in ("0", "1")] == [7, 8]
    path = forger.path("corpora/own/queries.parquet")
    honest = pq.read_table(path)
    for column, kind in (("excluded_ids", pa.string()), ("excluded_rows", pa.int32())):
        lists = pa.array([[], []], pa.list_(kind))
        pq.write_table(honest.set_column(honest.column_names.index(column), column, lists), path)
        forger.digest_again()
        assert "corpora/own/queries.parquet" in {path for check in forger.failed() for path in check.files}


@pytest.fixture
def reranked(tmp_path: Path, tiny_bert: Path, threads_as_before: None) -> Forger:
    """Results of an encoder that ranks the candidates of each query."""
    lines = [
        {"query": words(i, 4), "positive": [words(50 + i, 6)], "negative": [words(n, 5) for n in range(i, 9)]} for i in range(6)
    ]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = {
        "systems": "tiny",
        "datasets": "own",
        "top_k": 20,
        "cutoffs": [10, 20],
        "chunk_documents": 15,
        "precision": "float32",
        "device": "cpu",
        "custom": {
            "systems": {"tiny": tiny_system(tiny_bert)},
            "datasets": {"own": {"path": str(tmp_path / "samples.jsonl"), "form": "samples"}},
        },
    }
    make_results(tmp_path / "results", config)
    return Forger(tmp_path / "results", load_experiment(config))


def test_candidates_are_ranked_again_and_runs_of_other_documents_are_found(reranked: Forger) -> None:
    checks = reranked.checks(sample=5)
    assert [check for check in checks if check.status == FAILED] == []
    assert any(check.status == PASSED and "recomputed rankings" in check.name for check in checks)
    run = "runs/tiny/own.parquet"
    reranked.edit_table(run, lambda rows: rows[rows["rank"] < 5])
    reranked.evaluate_again("tiny", "own")
    assert run in {path for check in reranked.failed(sample=5) for path in check.files}


def test_a_query_that_is_a_list_has_the_mean_vector_of_its_texts(
    tmp_path: Path, tiny_bert: Path, threads_as_before: None
) -> None:
    lines = [
        {"query": [words(i, 4), words(9 + i, 7), words(i, 4)], "positive": [words(50 + i, 6)], "negative": [words(70 + i, 5)]}
        for i in range(6)
    ]
    lines.append({**lines[0], "query": words(99, 3)})
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = {"path": str(tmp_path / "samples.jsonl"), "form": "samples", "query_lists": "averaged"}
    config = {
        "systems": "tiny",
        "datasets": "own",
        "top_k": 20,
        "cutoffs": [10, 20],
        "precision": "float32",
        "device": "cpu",
        "custom": {"systems": {"tiny": tiny_system(tiny_bert)}, "datasets": {"own": own}},
    }
    make_results(tmp_path / "results", config)
    backbone = models.Transformer(str(tiny_bert), max_seq_length=64)
    model = SentenceTransformer(modules=[backbone, models.Pooling(32)], device="cpu")
    run = pq.read_table(tmp_path / "results/runs/tiny/own.parquet").to_pylist()
    texts = dict(
        pq.read_table(tmp_path / "results/corpora/own/documents.parquet", columns=["doc_id", "text"]).to_pandas().to_numpy()
    )
    assert len(run) == 2 * len(lines)
    for row in run:
        query = lines[int(row["query_id"][1:]) - 1]["query"]
        vector = model.encode([query] if isinstance(query, str) else query).mean(axis=0)
        assert row["score"] == pytest.approx(float(vector @ model.encode(texts[row["doc_id"]])), abs=1e-5)
    assert forger_of(tmp_path, config).noticed(sample=5) == []


def test_a_query_that_finds_nothing_because_no_candidate_is_in_the_corpus_is_right(tmp_path: Path) -> None:
    stated = {"q0": {"candidate_ids": ["nowhere"]}, "q1": {"candidate_ids": ["d000", "d003"]}}
    dataset = small_dataset(tmp_path / "small", documents=6, queries=2, stated=stated)
    config = config_of({"tiny": tiny_system(save_tiny_bert(tmp_path / "bert"))}, dataset)
    made = make_results(tmp_path / "results", config)
    assert pq.read_table(made.results / "runs/tiny/small.parquet")["query_id"].to_pylist() == ["q1", "q1"]
    assert forger_of(tmp_path, config).noticed() == []
