"""The similarity of words is that of the formula of the paper, however the words are read."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, write_record
from beirflow.extensions.beir_paper import overlap
from beirflow.extensions.beir_paper.figures import similarities
from beirflow.extensions.beir_paper.overlap import measure_overlap
from beirflow.extensions.beir_paper.statistics import WordCounter, write_words

TEXTS = {"a": ["the cell and the wall", "zebra"], "b-x": ["the cell"], "b-y": ["wall street", "école"]}
TEXTS |= {"c": ["日本語 école école"], "empty": ["…"]}
ROWS = {"a": ["a"], "b": ["b-x", "b-y"], "c": ["c"], "empty": ["empty"]}


def jaccard(one: list[str], other: list[str]) -> float:
    """The formula of the appendix, over all words of both."""
    s, t = (Counter(" ".join(texts).split()) for texts in (one, other))
    frequencies = [(s[word] / s.total(), t[word] / t.total()) for word in {*s, *t}]
    return sum(map(min, frequencies)) / sum(map(max, frequencies))


def measure(folder: Path, *, changed: bool = False) -> pd.DataFrame:
    for name, texts in TEXTS.items():
        counter = WordCounter()
        counter.add(pa.array(texts, pa.large_string()))
        counts = write_words(folder / f"{name}.parquet", counter)
        outputs = {folder / f"{name}.parquet": file_digest(folder / f"{name}.parquet")}
        write_record(folder / f"{name}.json", Job(folder), inputs={}, outputs=outputs, counts=counts, dataset=name)
    if changed:
        (folder / "a.parquet").write_bytes((folder / "c.parquet").read_bytes())
    words, statistics = ([str(folder / f"{name}.{kind}") for name in TEXTS] for kind in ("parquet", "json"))
    measure_overlap(words_paths=words, statistics_paths=statistics, rows=ROWS, overlap_path=str(folder / "overlap.csv"))
    return pd.read_csv(folder / "overlap.csv")


@pytest.mark.parametrize("block", [1, 1 << 16])
def test_similarities_are_those_of_the_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(overlap, "BLOCK", block)
    found = measure(tmp_path).set_index(["dataset_a", "dataset_b"])["similarity"]
    texts = {row: [text for name in names for text in TEXTS[name]] for row, names in ROWS.items() if row != "empty"}
    for a, b in combinations(texts, 2):
        assert found[a, b] == pytest.approx(jaccard(texts[a], texts[b]), rel=1e-12)
    assert np.isnan(found["a", "empty"])
    assert found["a", "c"] == 0
    names, matrix = similarities(found.reset_index())
    assert names == list(ROWS)
    assert np.array_equal(matrix, matrix.T, equal_nan=True)
    assert (np.diag(matrix) == 1).all()


def test_words_that_were_changed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.parquet"):
        measure(tmp_path, changed=True)
