"""The progress of a job that makes an expansion: an interrupted job resumes after its last batch, because writing takes days."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import orjson

from beirflow.files.resume import ResumeFile


class ExpansionLog(ResumeFile):
    """The batches that have been made, in a file beside the result; memory holds where each is and not what it says.

    Args:
        path: The file.
        made_from: All that decides what is made.

    Attributes:
        rows: By row for which something has been made, the place of its batch.
        counts: What was counted for it, by name.
        seconds: How long it took, in all the jobs.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        super().__init__(path, made_from)
        self.rows: dict[int, int] = {}
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def __enter__(self) -> Self:
        super().__enter__()
        for place in self.places:
            self._count(self._batch(place), place)
        return self

    def _batch(self, place: int) -> dict[str, Any]:
        batch: dict[str, Any] = orjson.loads(self.read(place).readline())
        return batch

    def _count(self, batch: Mapping[str, Any], place: int) -> None:
        self.rows |= dict.fromkeys(batch["rows"], place)
        self.counts.update(batch["counts"])
        self.seconds += batch["seconds"]

    def add(self, rows: Sequence[int], values: Sequence[Any], counts: Mapping[str, int], seconds: float) -> None:
        """Add a batch.

        Args:
            rows: Rows of its documents.
            values: What was made for each.
            counts: What was counted.
            seconds: How long it took.
        """
        batch = {"rows": list(rows), "values": list(values), "counts": dict(counts), "seconds": seconds}
        with self.record() as stream:
            stream.write(orjson.dumps(batch) + b"\n")
        self._count(batch, self.places[-1])

    def values_of(self, rows: range) -> list[Any]:
        """Read what has been made for some rows.

        Args:
            rows: Rows for which something has been made; fastest where they are neighbours, which share batches.

        Returns:
            What was made for each.

        Raises:
            DataError: A batch was damaged meanwhile.
        """
        values: dict[int, Any] = {}
        for place in sorted({self.rows[row] for row in rows}):
            batch = self._batch(place)
            values |= {row: value for row, value in zip(batch["rows"], batch["values"], strict=True) if row in rows}
        return [values[row] for row in rows]
