"""Background work, so that computing does not wait for reading."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count, takewhile
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_ahead(function: Callable[[Item], Result], items: Iterable[Item], threads: int = 1) -> Iterator[Result]:
    """Apply a function to items in other threads, some items ahead, and yield the results in the order of the items.

    Faster only where the function releases the interpreter's lock, as Arrow, the tokenizers and the reading of files do. At most
    ``threads + 1`` items are waiting or done. A single item, if ``items`` knows its length, starts no thread. An exception of the
    function is raised when its result is due.
    """
    if isinstance(items, Sized) and len(items) == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as background:
        pending: deque[Future[Result]] = deque()
        for item in items:
            pending.append(background.submit(function, item))
            # One more than threads, so that none is idle while the caller uses a result.
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Let another thread read or make items, none of them None, one ahead; an exception is raised when its item is due."""
    iterator = iter(items)
    values = map_ahead(lambda _: next(iterator, None), count())
    return (item for item in takewhile(lambda item: item is not None, values) if item is not None)
