"""Two datasets of nearly the same texts: together the shared ones are encoded once, alone each is as ever."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from beir_writer import write_beir
from workflow_runs import Workflow, small_dataset, words

SUMMARY = "results/summary.csv"
RUN = "runs/tiny/more.parquet"
CHUNKS = 4
"""Of ``more``, which has the 30 documents of ``small``, two other texts, one of them twice, and other chunks therefore."""


@pytest.fixture(scope="session")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the dataset ``more``."""
    return small_dataset(tmp_path_factory.mktemp("data") / "more", documents=33, queries=5)


def configure(workflow: Workflow, more: Path, *datasets: str) -> Workflow:
    """Both datasets are defined, some are configured."""
    known = workflow.config["custom"]["datasets"] | {"more": {"path": str(more), "shares_texts_with": "small"}}
    workflow.config |= {"datasets": list(datasets), "custom": {**workflow.config["custom"], "datasets": known}}
    return workflow


@pytest.fixture(scope="session")
def alone_once(finished_once: tuple[Workflow, str], tmp_path_factory: pytest.TempPathFactory, more: Path) -> Workflow:
    """``more`` alone, in a folder where nothing else has run; not to be changed."""
    workflow = Workflow(tmp_path_factory.mktemp("alone"), dict(finished_once[0].config))
    configure(workflow, more, "more").run(SUMMARY)
    return workflow


@pytest.fixture(scope="session")
def together_once(finished_once: tuple[Workflow, str], tmp_path_factory: pytest.TempPathFactory, more: Path) -> Workflow:
    """Both, ``more`` after ``small``; not to be changed."""
    workflow = configure(finished_once[0].copied(tmp_path_factory.mktemp("together") / "both"), more, "small", "more")
    workflow.run(SUMMARY)
    return workflow


@pytest.fixture
def together(together_once: Workflow, tmp_path: Path) -> Workflow:
    """A copy of the finished run that a test may change."""
    return together_once.copied(tmp_path / "together")


def records(workflow: Workflow, dataset: str, chunks: int) -> list[dict[str, Any]]:
    folder = workflow.result(f"embeddings/tiny/{dataset}")
    return [json.loads((folder / f"chunk-{chunk}.json").read_text()) for chunk in range(chunks)]


def vectors_by_id(workflow: Workflow, dataset: str, chunks: int) -> dict[str, np.ndarray]:
    folder = workflow.result(f"embeddings/tiny/{dataset}")
    vectors = np.concatenate([np.load(folder / f"chunk-{chunk}.npy") for chunk in range(chunks)])
    ids = pd.read_parquet(workflow.result(f"corpora/{dataset}/documents.parquet"))["doc_id"]
    return dict(zip(ids, vectors, strict=True))


def assert_same_run(found: Workflow, expected: Workflow) -> None:
    runs = [pd.read_parquet(workflow.result(RUN)) for workflow in (found, expected)]
    pd.testing.assert_frame_equal(runs[0].drop(columns="score"), runs[1].drop(columns="score"))
    np.testing.assert_allclose(runs[0]["score"], runs[1]["score"], rtol=0, atol=1e-5)


def test_only_the_texts_that_differ_are_encoded(together_once: Workflow, alone_once: Workflow) -> None:
    shared, alone = (records(workflow, "more", CHUNKS) for workflow in (together_once, alone_once))
    assert [record["rows"] for record in shared] == [record["rows"] for record in alone]
    assert sum(record["distinct_texts"] for record in shared) == 2
    assert sum(record["distinct_texts"] for record in alone) == 22
    assert sum(record["counts"]["documents_reused"] for record in shared) == 30
    tokens = [sum(record["counts"]["tokens"] for record in chunks) for chunks in (shared, alone)]
    assert 0 < tokens[0] < tokens[1] / 5
    # The chunks without a text of their own have loaded no model.
    assert [record["seconds"]["load"] > 0 for record in shared] == [record["distinct_texts"] > 0 for record in shared]
    assert not all(record["distinct_texts"] for record in shared)
    run = together_once.read("runs/tiny/more.json")
    assert run["counts"]["documents_reused"] == 30
    log = together_once.result("logs/match_texts/more.log").read_text()
    assert "small has the texts of 30 of the 33 documents of more" in log
    small = vectors_by_id(together_once, "small", 3)
    for doc_id, vector in vectors_by_id(together_once, "more", CHUNKS).items():
        if doc_id in small:
            np.testing.assert_array_equal(vector, small[doc_id])


def test_the_run_is_that_of_the_dataset_alone(together_once: Workflow, alone_once: Workflow) -> None:
    assert_same_run(together_once, alone_once)
    together, alone = (pd.read_csv(w.result("summary.csv")).set_index("dataset") for w in (together_once, alone_once))
    for measure in ("NDCG@10", "MRR@10", "P@10"):
        assert together.loc["more", measure] == pytest.approx(alone.loc["more", measure], abs=1e-12)


def test_a_run_of_both_says_what_it_will_do_and_a_second_one_has_nothing_to_do(
    finished: Workflow, together_once: Workflow, more: Path
) -> None:
    jobs = configure(finished, more, "small", "more").planned(SUMMARY)
    assert jobs == {
        "prepare_corpus": 1,
        "match_texts": 1,
        "encode_queries": 1,
        "encode_chunk": CHUNKS,
        "search_chunk": CHUNKS,
        "merge_chunks": 1,
        "evaluate_run": 1,
        "summarize": 1,
    }
    assert together_once.planned(SUMMARY) == {}


@pytest.mark.parametrize(("dataset", "chunks"), [("small", 3), ("more", CHUNKS)])
def test_a_dataset_alone_needs_nothing_of_the_other(workflow: Workflow, more: Path, dataset: str, chunks: int) -> None:
    jobs = configure(workflow, more, dataset).planned(SUMMARY)
    assert "match_texts" not in jobs
    assert (jobs["prepare_corpus"], jobs["encode_queries"], jobs["encode_chunk"]) == (1, 1, chunks)
    output = workflow.run("results/corpora/more/shared.parquet", "--dry-run", ok=False)
    assert "No rule to produce results/corpora/more/shared.parquet" in output


def test_a_dataset_that_was_finished_before_is_not_touched_by_one_that_shares_its_texts(finished: Workflow, more: Path) -> None:
    assert configure(finished, more, "small").planned(SUMMARY) == {}


def test_the_official_pair_is_downloaded_and_encoded_together_or_each_alone(workflow: Workflow) -> None:
    workflow.config = {"datasets": ["climate-fever"]}
    jobs = workflow.planned(SUMMARY)
    assert (jobs["download_dataset"], jobs["encode_chunk"], jobs.get("match_texts")) == (1, 11, None)
    workflow.config = {"datasets": ["climate-fever", "fever"]}
    jobs = workflow.planned(SUMMARY)
    assert (jobs["download_dataset"], jobs["encode_chunk"], jobs["match_texts"]) == (2, 22, 1)
    assert workflow.planned("results/metrics/contriever/fever.json").get("match_texts") is None


def test_leaving_the_other_dataset_out_and_another_encoding_make_them_again_too(together: Workflow) -> None:
    together.config["datasets"] = ["more"]
    assert together.planned(f"results/{RUN}") == {"encode_chunk": CHUNKS, "search_chunk": CHUNKS, "merge_chunks": 1}
    together.config["datasets"] = ["small", "more"]
    assert together.planned(f"results/{RUN}") == {}
    together.config["custom"]["systems"]["tiny"]["pooling"] = "cls"
    assert together.planned(f"results/{RUN}")["encode_chunk"] == 3 + CHUNKS


@pytest.mark.long
def test_a_change_of_the_other_corpus_matches_again_and_encodes_what_it_lacks_now(
    together: Workflow, alone_once: Workflow
) -> None:
    """Every text of ``small`` but three is another one now, and the rows of these three have moved."""
    kept = pd.read_json(Path(together.config["custom"]["datasets"]["small"]["path"]) / "corpus.jsonl", lines=True).iloc[[0, 2, 8]]
    documents = {f"n{i}": words(5000 + i, 1 + i % 20) for i in range(17)} | dict(zip("abc", kept["text"], strict=True))
    changed = write_beir(together.folder / "data/small", documents, {"q0": words(1, 3)}, {"q0": {"n1": 1}})
    together.config["custom"]["datasets"] |= {"small": {"path": str(changed)}}
    together.run(f"results/{RUN}")
    shared = records(together, "more", CHUNKS)
    assert sum(record["counts"]["documents_reused"] for record in shared) == 4  # the first stands in ``more`` twice
    assert sum(record["distinct_texts"] for record in shared) == 22 - 3
    assert_same_run(together, alone_once)
