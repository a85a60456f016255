"""Make batches of texts or pairs again as they were made, and compare them bit for bit: no tolerance hides a change then.

The last bits depend on versions, device, processor, threads, and on what else is in a batch. All of these are in the records.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from beirflow.core.layout import record_of
from beirflow.core.records import ASSUMED, read_json
from beirflow.families.family import COMPUTATION
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, Subject
from beirflow.run.hardware import using_threads

MOST = 20  # largest batch that is made again, over the sample


class Model(Protocol):
    """A loaded model."""

    def made(self) -> Mapping[str, Any]:
        """Return precision, device and versions, as in records."""

    def computation(self) -> Mapping[str, Any]:
        """Return batches, threads and processor, as in records."""


class Part(NamedTuple):
    """A file of what a model made of texts or pairs; equal ones are one row, in the order of the first of them."""

    path: str
    load: Callable[[], Model]
    rows: list[int]  # drawn rows
    batch_of: Callable[[int], np.ndarray]  # rows of the batch that a row is in, ascending
    is_same: Callable[[np.ndarray], bool]  # makes rows again and compares them with what is stored
    names: list[str]  # of the rows


def same_bits(subject: Subject, parts: Iterable[Part], sample: int, but: Collection[str] = ()) -> Finding:
    """Make batches of drawn rows again, until they have as many rows as the sample, and compare all bits.

    ``but`` are recorded facts that no model states, such as digests of code. Raises NotHereError in another computation than
    the recorded one, or for a batch far larger than the sample.
    """
    number = 0
    for part in parts:
        done = set[int]()
        with _computed_as_recorded(subject, part, but):
            for row in part.rows:
                if row in done or number + len(done) >= sample:
                    continue
                batch = part.batch_of(row)
                if len(batch) > MOST * sample:
                    raise NotHereError(f"{part.path}: a batch of {len(batch)} is more than {MOST} times the sample")
                if not part.is_same(batch):
                    problem = f"{subject.name}: {part.path} has other bits in the batch of {part.names[row]!r}"
                    return Finding(
                        False, problem, "those of the same batch, computed again with the same versions, threads and processor"
                    )
                done.update(batch.tolist())
        number += len(done)
        if number >= sample:
            break
    return Finding(True, f"{subject.name}: {number} in the recorded batches")


@contextmanager
def _computed_as_recorded(subject: Subject, part: Part, but: Collection[str]) -> Iterator[None]:
    """Use the recorded threads in the block. Raises NotHereError if anything else differs, or the record does not state it."""
    path, (key,) = record_of(part.path).as_posix(), COMPUTATION
    record = read_json(subject.file(path))
    stated = record.get(key)
    if not isinstance(stated, dict):
        raise NotHereError(f"{path} does not state batches, threads and processor")
    threads = stated.get("threads")
    if type(threads) is not int or not 0 < threads <= (os.cpu_count() or 1):
        raise NotHereError(f"{path} was computed with {threads} threads, here are {os.cpu_count()} cores")
    recorded = {**record["made"], **stated}
    with using_threads(threads):
        model = part.load()
        here = {**model.made(), **model.computation()}
        for each in sorted((recorded.keys() | here.keys()).difference({*but, ASSUMED})):
            if recorded.get(each) != here.get(each):
                raise NotHereError(f"{path} was computed with {each} {recorded.get(each)!r}, here it is {here.get(each)!r}")
        yield
