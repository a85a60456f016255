"""Results do not depend on chunk size, document order, batch budget or number of cores."""

import numpy as np
import pandas as pd
import pytest
from beir_writer import write_beir
from workflow_runs import Workflow, small_dataset, words

RUN = "runs/tiny/small.parquet"


@pytest.fixture
def reference(workflow: Workflow) -> pd.DataFrame:
    workflow.run(f"results/{RUN}")
    return pd.read_parquet(workflow.result(RUN))


@pytest.mark.parametrize(
    ("changes", "cores", "shuffled"),
    [
        ({"chunk_documents": 4, "token_budget": 16}, 1, False),
        ({"chunk_documents": 1000, "token_budget": 100000}, 2, True),
    ],
)
def test_a_run_with_duplicate_texts(
    workflow: Workflow, reference: pd.DataFrame, changes: dict, cores: int, shuffled: bool
) -> None:
    other = Workflow(workflow.folder / "other", {**workflow.config, **changes})
    path = small_dataset(workflow.folder / "data/again", shuffled=shuffled)
    other.config["custom"] = {**workflow.config["custom"], "datasets": {"small": {"path": str(path)}}}
    other.folder.mkdir()
    other.run(f"results/{RUN}", cores=cores)
    found = pd.read_parquet(other.result(RUN))
    pd.testing.assert_frame_equal(found.drop(columns="score"), reference.drop(columns="score"))
    np.testing.assert_allclose(found["score"], reference["score"], rtol=1e-5)


def test_equal_texts_tie_exactly_and_rank_by_id_whatever_the_chunks(workflow: Workflow) -> None:
    texts = [words(seed, 6) for seed in range(3)]
    documents = {f"d{i:02}": texts[i % 3] for i in range(30)}
    write_beir(workflow.folder / "data/small", documents, {"q": words(7, 4)}, {"q": {"d00": 1}})
    rankings = []
    for chunk_documents in (7, 30):
        workflow.config["chunk_documents"] = chunk_documents
        workflow.run(f"results/{RUN}")
        run = pd.read_parquet(workflow.result(RUN))
        assert run["score"].nunique() == 2  # ten documents of one text, then ten of another
        for _, tied in run.groupby("score"):
            assert tied["doc_id"].tolist() == sorted(tied["doc_id"], reverse=True)
        rankings.append(run["doc_id"].tolist())
    assert rankings[0] == rankings[1]
