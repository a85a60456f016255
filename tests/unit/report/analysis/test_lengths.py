"""Counting words, and histograms that add up."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from beirflow.report.analysis.lengths import EDGES, added_up, count_words, histogram, median

TEXTS = ["", "   ", "one", " two  words ", "tab\tline\nnew", "no\u00a0break", "中文\u3000字"]


def test_a_word_is_a_stretch_without_whitespace() -> None:
    for kind in (pa.string(), pa.large_string()):
        assert count_words(pa.array(TEXTS, kind)).tolist() == [len(text.split()) for text in TEXTS]
    assert count_words(pa.array(TEXTS).slice(2, 3)).tolist() == [1, 2, 3]


def test_every_length_is_counted_in_its_bin() -> None:
    lengths = np.array([0, 1, 1, 7, 100, 99, 5_000_000])
    found = histogram(lengths)
    edges, counts = found["edges"], found["counts"]
    assert len(edges) == len(counts) + 1
    assert edges == list(EDGES)
    expected = [sum(low <= length < high for length in lengths) for low, high in pairwise(edges[:-1])]
    assert counts == [*expected, 1]
    assert histogram(np.array([3, 5]))["edges"] == [0, 1, 2, 3, 4, 5, 6]
    assert max(high / low for low, high in pairwise(EDGES[10:])) < 4 / 3


def test_quantiles_and_mean_are_those_of_the_lengths_and_nothing_has_none() -> None:
    found, nothing = histogram(np.arange(101)), histogram(np.zeros(0, np.int32))
    assert found["quantiles"] == {"5": 5, "25": 25, "50": 50, "75": 75, "95": 95}
    assert (found["mean"], found["n"]) == (pytest.approx(50), 101)
    assert (nothing["n"], nothing["mean"], nothing["quantiles"]["50"], sum(nothing["counts"])) == (0, None, None, 0)


def test_histograms_of_several_corpora_add_up() -> None:
    first, second = histogram(np.array([1, 2, 2])), histogram(np.array([2, 300]))
    (edges, counts) = added_up([{"all": first, "x": first}, {"all": second}])["all"]
    assert (sum(counts), counts[1], counts[2]) == (5, 1, 3)
    assert edges == second["edges"]
    assert added_up([{"all": first, "x": first}, {"all": second}])["x"] == (first["edges"], first["counts"])


def test_the_median_is_exact_of_one_corpus_and_inside_its_bin_of_several() -> None:
    one, empty = histogram(np.array([100, 101, 700])), histogram(np.zeros(0, np.int64))
    assert median([one, empty]) == 101
    assert np.isnan(median([empty]))
    assert 100 <= median([one, one]) <= 126
