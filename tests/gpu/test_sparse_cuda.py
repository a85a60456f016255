"""On a GPU the weights are those of the CPU."""

from pathlib import Path

import numpy as np
import pytest
import torch
from beirflow.sparse.layouts import read_parts
from beirflow.sparse.rows import Rows
from beirflow.sparse.settings import SparseSettings
from beirflow.sparse.weigher import Weigher
from tiny_bert import WORDS
from tiny_sparse import save_masked_lm, save_sparta, save_unicoil, spread

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

TEXTS = [" ".join(WORDS[i : i + 1 + i % 50]) for i in range(150)]
SAVE = {"splade": save_masked_lm, "unicoil": save_unicoil, "sparta": save_sparta}


def weighed(folder: Path, head: str, device: str, precision: str, pooling: str | None) -> np.ndarray:
    part = read_parts(SparseSettings("s", model=str(folder), head=head, pooling=pooling), folder, None).documents
    weigher = Weigher("s", part, device=device, precision=precision, token_budget="auto")
    return spread(Rows.together(list(weigher.windows(TEXTS, "documents"))))


@pytest.mark.parametrize(("head", "pooling"), [("splade", "max"), ("splade", "sum"), ("unicoil", None), ("sparta", None)])
def test_weights_are_those_of_the_cpu(tmp_path: Path, head: str, pooling: str | None) -> None:
    SAVE[head](tmp_path)
    expected = weighed(tmp_path, head, "cpu", "float32", pooling)
    found = weighed(tmp_path, head, "cuda", "float32", pooling)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    rough = weighed(tmp_path, head, "cuda", "auto", pooling)
    assert np.linalg.norm(rough - expected) < 0.05 * np.linalg.norm(expected)
