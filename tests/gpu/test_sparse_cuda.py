"""On a GPU the weights are those of the CPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigher import Weigher
from tiny_bert import WORDS
from tiny_sparse import save_masked_lm, save_sparta, save_unicoil, spread

TEXTS = [" ".join(WORDS[i : i + 1 + i % 50]) for i in range(60)]
SAVE: dict[str, Callable[[Path], object]] = {"splade": save_masked_lm, "unicoil": save_unicoil, "sparta": save_sparta}


EXPANSION: dict[str, Any] = {"expansion": {"path": "x.jsonl"}, "text_length": 30, "expansion_length": 20}


def weighed(folder: Path, device: str, precision: str, settings: dict[str, Any]) -> np.ndarray:
    part = read_parts(SparseSettings("s", model=str(folder), **settings)).documents
    weigher = Weigher("s", part, device=device, precision=precision, token_budget="auto")
    added = TEXTS[::-1] if "expansion" in settings else None
    return spread(Rows.together(list(weigher.windows(TEXTS, "documents", added))))


@pytest.mark.parametrize(
    ("head", "more"),
    [("splade", {"pooling": "max"}), ("splade", {"pooling": "sum"}), ("unicoil", {}), ("unicoil", EXPANSION), ("sparta", {})],
)
def test_weights_are_those_of_the_cpu(tmp_path: Path, head: str, more: dict[str, Any]) -> None:
    SAVE[head](tmp_path)
    settings = {"head": head, **more}
    expected = weighed(tmp_path, "cpu", "float32", settings)
    found = weighed(tmp_path, "cuda", "float32", settings)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    rough = weighed(tmp_path, "cuda", "auto", settings)
    assert np.linalg.norm(rough - expected) < 0.08 * np.linalg.norm(expected)
