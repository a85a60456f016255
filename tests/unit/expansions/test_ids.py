"""Documents are found by their ids as Arrow finds them, also where ids share a hash."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from beirflow.expansions import ids as ids_module
from beirflow.expansions.ids import RowsById

IDS = pa.array([f"d{i * 7919 % 1000}" for i in range(900)] + ["", "\u6771", "d 1"])
NAMES = pa.array(["d7", "", "d999", "nowhere", "d7", "\u6771", "d 1", "d1 ", "d\0"])


@pytest.mark.parametrize("hashes", [None, 1, 7])
def test_rows_are_those_that_arrow_finds(monkeypatch: pytest.MonkeyPatch, hashes: int | None) -> None:
    if hashes is not None:
        monkeypatch.setattr(
            ids_module, "_hashes", lambda names: np.array([len(name) % hashes for name in names.to_pylist()], np.uint64)
        )
    monkeypatch.setattr(ids_module, "BLOCK_IDS", 100)
    expected = pc.fill_null(pc.index_in(NAMES, value_set=IDS), -1).to_pylist()
    rows = RowsById(IDS)
    assert rows.find(NAMES).tolist() == expected
    assert rows.find(IDS).tolist() == list(range(len(IDS)))
    assert rows.find(NAMES[:0]).tolist() == []


def test_a_corpus_without_documents_has_none() -> None:
    assert RowsById(IDS[:0]).find(NAMES).tolist() == [-1] * len(NAMES)
