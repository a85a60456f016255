"""Two datasets of nearly the same texts: together the shared ones are encoded once, alone each is as ever."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workflow_runs import Workflow, small_dataset

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


def assert_same_run(found: Workflow, expected: Workflow) -> None:
    runs = [pd.read_parquet(workflow.result(RUN)) for workflow in (found, expected)]
    pd.testing.assert_frame_equal(runs[0].drop(columns="score"), runs[1].drop(columns="score"))
    np.testing.assert_allclose(runs[0]["score"], runs[1]["score"], rtol=0, atol=1e-5)


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


def test_a_dataset_that_was_finished_before_is_not_touched_by_one_that_shares_its_texts(finished: Workflow, more: Path) -> None:
    assert configure(finished, more, "small").planned(SUMMARY) == {}


def test_leaving_the_other_dataset_out_and_another_encoding_make_them_again_too(together: Workflow) -> None:
    together.config["datasets"] = ["more"]
    assert together.planned(f"results/{RUN}") == {"encode_chunk": CHUNKS, "search_chunk": CHUNKS, "merge_chunks": 1}
    together.config["datasets"] = ["small", "more"]
    assert together.planned(f"results/{RUN}") == {}
    together.config["custom"]["systems"]["tiny"]["pooling"] = "cls"
    assert together.planned(f"results/{RUN}")["encode_chunk"] == 3 + CHUNKS
