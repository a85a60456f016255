"""Results do not depend on chunk size, document order, batch budget or number of cores."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from beir_writer import write_beir
from workflow_runs import Workflow, dataset_config, small_dataset, words

RUN = "runs/tiny/small.parquet"


@pytest.mark.parametrize(
    ("changes", "cores", "shuffled"),
    [
        ({"chunk_documents": 8, "token_budget": 16}, 1, False),
        ({"chunk_documents": 1000, "token_budget": 100000}, 2, True),
    ],
)
def test_a_run_with_duplicate_texts(
    workflow: Workflow, finished: Workflow, changes: dict[str, Any], cores: int, shuffled: bool
) -> None:
    path = small_dataset(workflow.folder / "data/again", shuffled=shuffled)
    workflow.config |= dataset_config(workflow, small={"path": str(path)}) | changes
    workflow.run(f"results/{RUN}", cores=cores)
    found, expected = pd.read_parquet(workflow.result(RUN)), pd.read_parquet(finished.result(RUN))
    pd.testing.assert_frame_equal(found.drop(columns="score"), expected.drop(columns="score"))
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)


def test_equal_texts_tie_exactly_and_rank_by_id_whatever_the_chunks(workflow: Workflow) -> None:
    texts = [words(seed, 6) for seed in range(3)]
    documents = {f"d{i:02}": texts[i % 3] for i in range(30)}
    path = write_beir(workflow.folder / "data/equal", documents, {"q": words(7, 4)}, {"q": {"d00": 1}})
    workflow.config |= dataset_config(workflow, small={"path": str(path)})
    rankings = []
    for chunk_documents in (8, 30):
        workflow.config["chunk_documents"] = chunk_documents
        workflow.run(f"results/{RUN}")
        run = pd.read_parquet(workflow.result(RUN))
        assert run["score"].nunique() == 2  # ten documents of one text, then ten of another
        for _, tied in run.groupby("score"):
            assert tied["doc_id"].tolist() == sorted(tied["doc_id"], reverse=True)
        rankings.append(run["doc_id"].tolist())
    assert rankings[0] == rankings[1]
