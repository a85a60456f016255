"""Sums of lists: in double, in the order of the query's lists, of values of any stored type."""

import numpy as np
import pytest

from beirflow.families.postings.search import Lists, QueryLists, search_lists
from beirflow.ranking.ranking import Cut

HIGH = 2.0**24  # the first integer whose successor float32 does not have


def scores(lists: Lists, spans: list[tuple[int, int]], factors: list[float], k: int = 10) -> dict[int, float]:
    query = QueryLists(np.array(spans, np.int64).reshape(-1, 2), np.array(factors), np.array([0, len(spans)]))
    cut = Cut(k, np.arange(lists.documents), np.array([-1]))
    (numbers, rows, found), left_out = search_lists([(lists, query)], 1, cut, np.multiply)
    assert not numbers.any()
    assert len(left_out[0]) == 0
    return dict(zip(rows.tolist(), found.tolist(), strict=True))


@pytest.mark.parametrize(("order", "expected"), [((0, 1, 2), HIGH), ((1, 2, 0), HIGH + 2), ((2, 0, 1), HIGH)])
def test_products_are_added_in_the_order_of_the_lists_wherever_they_lie(order: tuple[int, ...], expected: float) -> None:
    # In float32 HIGH + 1 rounds to HIGH, anything above it to HIGH + 2; a double loses half of its last bit, but not both halves.
    half = 2.0**-29
    lists = Lists(3, np.array([1, 1, 1]), np.array([HIGH + 1, half, half]))
    assert scores(lists, [(each, each + 1) for each in order], [1.0] * 3) == {1: expected}


@pytest.mark.parametrize("values", [np.float32, np.float64, np.uint16])
@pytest.mark.parametrize("rows", [np.uint16, np.int32, np.int64])
def test_stored_types_do_not_round(rows: type, values: type) -> None:
    lists = Lists(1 << 16, np.array([65535, 7, 65535], rows), np.array([60000, 3, 60000], values))
    # The product of a term is no float32: only the sum is rounded.
    factor = float(np.float32(0.1))
    expected = {65535: float(np.float32(60000 * factor + 60000 * HIGH)), 7: float(np.float32(3 * factor))}
    assert scores(lists, [(0, 2), (2, 3)], [factor, HIGH]) == expected


def test_a_query_without_lists_and_one_with_empty_ones_find_nothing() -> None:
    lists = Lists(2, np.array([0, 1], np.int32), np.ones(2))
    assert scores(lists, [], []) == scores(lists, [(1, 1), (0, 0)], [1.0, 1.0]) == {}
    assert scores(Lists(0, np.empty(0, np.int32), np.empty(0)), [(0, 0)], [1.0]) == {}
