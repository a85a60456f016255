"""Files from which an interrupted job resumes: records, each with a digest that is compared before the record is used."""

import hashlib
import json
import logging
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from beirflow.core.disks import written_here
from beirflow.core.verified import damaged

logger = logging.getLogger(__name__)

HEAD = struct.Struct("<32sQ")
"""Before each record: the sha256 of all that the job is made from and of the record, and the bytes of the record."""

BLOCK_BYTES = 1 << 20


class ResumeFile:
    """Records that a job appends as its work proceeds, for the next job of the same settings and inputs.

    Opening it drops the first record that does not match its digest and all that follow: damaged ones, and those of another job.
    ``made_from`` is all that determines the result of the job, for the ``json`` module. ``places`` are the bytes at which
    records begin.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.places: list[int] = []
        self._made_from = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).digest()

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_symlink() or not self.path.is_file():
            self.path.unlink(missing_ok=True)  # a link would be written through
        self._stream = self.path.open("r+b" if self.path.exists() else "x+b")
        self._drop_damaged()
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    @contextmanager
    def record(self) -> Iterator[BinaryIO]:
        """Append a record, written to the stream that is given; it counts once the block has ended."""
        with written_here(self.path):
            place = self._stream.seek(0, os.SEEK_END)
            # The head is written last: a record that a kill has cut off has none and does not count.
            self._stream.write(bytes(HEAD.size))
            yield self._stream
            size = self._stream.tell() - place - HEAD.size
            digest = self._digest(place, size)
            self._stream.seek(place)
            self._stream.write(HEAD.pack(digest, size))
            self._stream.flush()
        self.places.append(place)

    def read(self, place: int) -> BinaryIO:
        """Return the stream at the start of a record, one of ``places``; DataError if it was damaged since opening."""
        if self._end_of(place) is None:
            raise damaged(self.path, f"the record at byte {place} does not match its digest")
        self._stream.seek(place + HEAD.size)
        return self._stream

    def _drop_damaged(self) -> None:
        """Note the places of the records that match, and cut off what follows them."""
        # From the start, since only heads say where records begin: behind a damaged one nothing is found.
        end, size = 0, os.fstat(self._stream.fileno()).st_size
        while (after := self._end_of(end)) is not None:
            self.places.append(end)
            end = after
        if end < size:
            left = f"{size - end:,} of {size:,} bytes, behind {len(self.places)} whole records, do not match their digest"
            reason = "they are damaged, cut off, or of other settings, inputs or code"
            logger.warning("%s: %s; %s; that work is done again", self.path, left, reason)
            self._stream.truncate(end)

    def _end_of(self, place: int) -> int | None:
        """Return the offset after a record; None where no record matches its digest."""
        self._stream.seek(place)
        head = self._stream.read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        digest, size = HEAD.unpack(head)
        return place + HEAD.size + size if self._digest(place, size) == digest else None

    def _digest(self, place: int, size: int) -> bytes | None:
        """Return the digest of a record of so many bytes; None where the file is too short."""
        # It begins with what the job is made from, so that records of another job never match.
        digest = hashlib.sha256(self._made_from)
        self._stream.seek(place + HEAD.size)
        while size and (block := self._stream.read(min(size, BLOCK_BYTES))):
            digest.update(block)
            size -= len(block)
        return None if size else digest.digest()
