"""The share of the exact hits, compared with sets of ids."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.families.approximate.exact_share import count_exact
from beirflow.ranking.run_file import RUN


def run_of(hits: dict[str, list[str]]) -> pa.Table:
    """A run whose documents are in the order of their ranks."""
    rows = [(query, doc_id, -float(rank), rank) for query, ids in sorted(hits.items()) for rank, doc_id in enumerate(ids, 1)]
    columns = list(zip(*rows, strict=True)) or [[], [], [], []]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, RUN, strict=True)], schema=RUN)


@given(
    exact=st.dictionaries(st.sampled_from("abc"), st.permutations(range(130)), min_size=1),
    sizes=st.lists(st.integers(0, 120), min_size=3, max_size=3),
    seed=st.integers(0, 9),
)
def test_counts_are_those_of_sets(exact: dict[str, list[int]], sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    top = {query: [f"d{number}" for number in numbers[:100]] for query, numbers in exact.items()}
    other = {query: [f"d{number}" for number in rng.permutation(130)[:size]] for query, size in zip("abc", sizes, strict=True)}
    expected = {}
    for k in (10, 100):
        expected[f"exact_{k}"] = sum(len(ids[:k]) for ids in top.values())
        expected[f"exact_{k}_found"] = sum(len({*ids[:k]} & {*other[query][:k]}) for query, ids in top.items())
    assert count_exact(run_of(top), run_of(other), 100) == expected


@pytest.mark.parametrize(("top_k", "cutoffs"), [(5, []), (10, [10]), (999, [10, 100]), (1000, [10, 100, 1000])])
def test_no_cutoff_is_beyond_what_runs_keep(top_k: int, cutoffs: list[int]) -> None:
    run = run_of({"q": ["d1", "d2"]})
    expected = [f"exact_{cutoff}{end}" for cutoff in cutoffs for end in ("", "_found")]
    counts = count_exact(run, run, top_k)
    assert list(counts) == expected
    assert set(counts.values()) <= {2}
