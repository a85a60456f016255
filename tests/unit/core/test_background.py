"""Results come in the order of the items, some ahead of what is asked for, and never more than that."""

import threading
import time
from collections.abc import Iterator

import pytest

from beirflow.core.background import map_ahead, read_ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.02 * (number % 3 == 0))
        return number * number

    assert list(map_ahead(slow_first, range(10), threads)) == [number * number for number in range(10)]
    assert list(map_ahead(slow_first, [], threads)) == []


def test_items_are_taken_only_when_there_is_room_for_them() -> None:
    taken: list[int] = []

    def items() -> object:
        for number in range(10):
            taken.append(number)
            yield number

    results = map_ahead(lambda item: item, items(), threads=2)
    next(results)
    assert taken == [0, 1, 2]
    next(results)
    assert taken == [0, 1, 2, 3]


def test_an_exception_is_raised_where_its_result_is_due() -> None:
    for results in (map_ahead(lambda divisor: 6 // divisor, [1, 2, 0, 3], threads=3), read_ahead(6 // n for n in (1, 2, 0))):
        assert [next(results), next(results)] == [6, 3]
        with pytest.raises(ZeroDivisionError):
            next(results)


def test_one_item_is_read_ahead_by_another_thread() -> None:
    read: list[tuple[int, bool]] = []

    def items() -> Iterator[int]:
        for number in range(5):
            read.append((number, threading.current_thread() is threading.main_thread()))
            yield number

    found = read_ahead(items())
    assert read == []
    assert next(found) == 0
    assert list(found) == [1, 2, 3, 4]
    assert read == [(number, False) for number in range(5)]
    assert list(read_ahead([])) == []
