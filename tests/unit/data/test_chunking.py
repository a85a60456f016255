"""Equal texts are found by their bytes, whatever their fingerprints say."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from beirflow.data.chunking import Scan, deal, first_equal_texts, spill_path

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


def test_equal_texts_take_one_turn_together() -> None:
    sizes = np.array([len(text) for text in TEXTS])
    ids, title_bytes = pa.array(list("abcdefgh"), pa.large_string()), np.zeros(len(TEXTS), np.int32)
    scan = Scan(ids, sizes, sizes, title_bytes, np.array(FIRST_EQUAL))
    order, chunk_of = deal(scan, 3)
    assert order.tolist() == [0, 1, 2, 4, 6, 7, 3, 5]  # longest first, then by id
    assert [TEXTS[row] for row in order[[0, 1, 4, 6]]] == ["one", "two", "tow", ""]  # the first of each: turns 0, 1, 2, 3
    assert chunk_of.tolist() == [0, 1, 0, 0, 1, 0, 2, 0]
