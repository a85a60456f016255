"""Rows of weights: equal texts have equal weights, whatever the windows."""

import numpy as np
import pytest
from beirflow.sparse.rows import Rows, in_rows


@pytest.mark.parametrize("window", [1, 2, 3, 100])
@pytest.mark.parametrize("texts", ["abcdef", "abacbbdda", "aaaa", "", "abcdefabcdef"])
def test_every_row_has_the_weights_of_its_text(texts: str, window: int) -> None:
    distinct = list(dict.fromkeys(texts))
    indices = np.array([distinct.index(text) for text in texts], np.int32)
    counts = [number % 3 for number in range(len(distinct))]  # the first has none
    rows = Rows.together(
        [
            Rows(np.array([count]), np.arange(count, dtype=np.int32) + number, np.full(count, number + 0.5, np.float32))
            for number, count in enumerate(counts)
        ]
    )
    parts = []
    for first in range(0, len(distinct), window):
        part = slice(rows.starts[first], rows.starts[min(first + window, len(distinct))])
        parts.append(Rows(rows.counts[first : first + window], rows.terms[part], rows.weights[part]))
    found = Rows.together(list(in_rows(parts, indices)))
    assert found.counts.tolist() == [counts[number] for number in indices]
    assert found.terms.tolist() == [number + i for number in indices.tolist() for i in range(counts[number])]
    assert found.weights.tolist() == [number + 0.5 for number in indices.tolist() for _ in range(counts[number])]
