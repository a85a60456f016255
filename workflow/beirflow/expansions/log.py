"""The work of a job so far, a line per batch: an interrupted job resumes there, because writing takes days."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson


class ExpansionLog:
    """Lines that are added to a file beside the result; memory holds where they are and not what they say.

    A file of another model, corpus, code or setting is begun anew; so is what stands behind the first line that is torn.

    Args:
        path: The file.
        made_from: All that decides what is made.

    Attributes:
        places: By row for which something has been made, the byte at which its line begins.
        counts: What was counted for it, by name.
        seconds: How long it took, in all the jobs.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.places: dict[int, int] = {}
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0
        described = orjson.dumps(made_from, option=orjson.OPT_SORT_KEYS)
        self._header = orjson.dumps({"made_from_sha256": hashlib.sha256(described).hexdigest()}) + b"\n"

    def __enter__(self) -> "ExpansionLog":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self._read()
        self._stream = self.path.open("r+b" if whole else "wb")
        if whole:
            self._stream.truncate(whole)
            self._stream.seek(whole)
        else:
            self._stream.write(self._header)
        self._end = self._stream.tell()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()

    def _read(self) -> int:
        """Take what is there; gives the bytes that are whole, 0 if it is the file of something else."""
        if self.path.is_symlink() or not self.path.is_file():
            self.path.unlink(missing_ok=True)  # perhaps a link that somebody left, which would be written through
            return 0
        with self.path.open("rb") as stream:
            if stream.readline(len(self._header)) != self._header:
                return 0
            whole = len(self._header)
            for line in stream:
                try:
                    found = orjson.loads(line) if line.endswith(b"\n") else None
                except orjson.JSONDecodeError:
                    found = None
                if found is None:
                    break
                self._take(found, whole)
                whole += len(line)
        return whole

    def _take(self, found: Mapping[str, Any], place: int) -> None:
        self.places |= dict.fromkeys(found["rows"], place)
        self.counts.update(found["counts"])
        self.seconds += found["seconds"]

    def add(self, rows: Sequence[int], values: Sequence[Any], counts: Mapping[str, int], seconds: float) -> None:
        """Add a batch.

        Args:
            rows: Rows of its documents.
            values: What was made for each.
            counts: What was counted.
            seconds: How long it took.
        """
        found = {"rows": list(rows), "values": list(values), "counts": dict(counts), "seconds": seconds}
        line = orjson.dumps(found) + b"\n"
        self._stream.write(line)
        self._stream.flush()
        self._take(found, self._end)
        self._end += len(line)

    def values_of(self, rows: range) -> list[Any]:
        """Read what has been made for some rows.

        Args:
            rows: Rows for which something has been made; fastest where they are neighbours, which share lines.

        Returns:
            What was made for each.
        """
        found: dict[int, Any] = {}
        with self.path.open("rb") as stream:
            for place in sorted({self.places[row] for row in rows}):
                stream.seek(place)
                line = orjson.loads(stream.readline())
                found |= {row: value for row, value in zip(line["rows"], line["values"], strict=True) if row in rows}
        return [found[row] for row in rows]
