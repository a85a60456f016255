"""Results do not depend on chunk size, document order, batch budget or number of threads: the whole path, in this process."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from beir_writer import write_beir
from results_maker import make_results
from workflow_runs import config_of, small_dataset, tiny_system, words

pytestmark = pytest.mark.usefixtures("threads_as_before")


def run_of(folder: Path, model: Path, data: Path, **changes: Any) -> pd.DataFrame:
    """The run of the tiny encoder on one dataset."""
    make_results(folder, config_of({"tiny": tiny_system(model)}, data, **changes))
    return pd.read_parquet(folder / "runs/tiny/small.parquet")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, small: Path) -> pd.DataFrame:
    return run_of(tmp_path_factory.mktemp("expected"), tiny_bert, small)


@pytest.mark.parametrize(
    ("changes", "threads", "shuffled"),
    [({"chunk_documents": 8, "token_budget": 16}, 1, False), ({"chunk_documents": 1000, "token_budget": 100000}, 2, True)],
)
def test_a_run_with_duplicate_texts(
    tmp_path: Path, tiny_bert: Path, expected: pd.DataFrame, changes: dict[str, Any], threads: int, shuffled: bool
) -> None:
    data = small_dataset(tmp_path / "again", shuffled=shuffled)
    torch.set_num_threads(threads)
    found = run_of(tmp_path / "results", tiny_bert, data, **changes)
    pd.testing.assert_frame_equal(found.drop(columns="score"), expected.drop(columns="score"))
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)


def test_equal_texts_tie_exactly_and_rank_by_id_whatever_the_chunks(tmp_path: Path, tiny_bert: Path) -> None:
    texts = [words(seed, 6) for seed in range(3)]
    documents = {f"d{i:02}": texts[i % 3] for i in range(30)}
    data = write_beir(tmp_path / "equal", documents, {"q": words(7, 4)}, {"q": {"d00": 1}})
    rankings = []
    for chunk_documents in (8, 30):
        run = run_of(tmp_path / f"results-{chunk_documents}", tiny_bert, data, chunk_documents=chunk_documents)
        assert run["score"].nunique() == 2  # ten documents of one text, then ten of another
        for _, tied in run.groupby("score"):
            assert tied["doc_id"].tolist() == sorted(tied["doc_id"], reverse=True)
        rankings.append(run["doc_id"].tolist())
    assert rankings[0] == rankings[1]
