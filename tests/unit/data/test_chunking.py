"""Equal texts are found by their bytes, whatever their fingerprints say."""

from pathlib import Path

import numpy as np
import pytest

from beirflow.data.chunking import first_equal_texts, spill_path

TEXTS = ["one", "two", "one", "", "two", "", "tow", "one"]
FIRST_EQUAL = [0, 1, 0, 3, 1, 3, 6, 0]


@pytest.mark.parametrize("collide", [True, False])
def test_texts_that_share_a_fingerprint_are_compared(tmp_path: Path, collide: bool) -> None:
    spill_path(tmp_path).write_bytes("".join(TEXTS).encode())
    sizes = np.array([len(text) for text in TEXTS])
    fingerprints = np.array([7 if collide else TEXTS.index(text) for text in TEXTS], dtype=np.uint64)
    assert first_equal_texts(fingerprints, sizes, spill_path(tmp_path)).tolist() == FIRST_EQUAL
    spill_path(tmp_path).write_bytes(b"")  # fingerprints that nobody shares need no reading
    assert first_equal_texts(np.arange(3, dtype=np.uint64), np.array([5, 5, 5]), spill_path(tmp_path)).tolist() == [0, 1, 2]
