"""Do files of Arrow's IPC, compressed batch by batch, promise no more than they can hold? A few bytes must not fill memory.

Arrow takes the room for a buffer that the buffer itself asks for, before it unpacks anything. Only what says so is read here: the
footer, the heads of the batches, and the first eight bytes of each buffer. https://arrow.apache.org/docs/format/Columnar.html
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beirflow.audit.digests.checks import RecordError
from beirflow.audit.digests.reading import GROWTH, SMALL_BYTES

MAGIC = b"ARROW1"
DICTIONARIES, BATCHES = 2, 3  # fields of the footer
HEADER = 2  # field of a message
BUFFERS, COMPRESSION = 2, 3  # fields of a batch

BLOCK, BUFFER = struct.Struct("<qi4xq"), struct.Struct("<qq")
"""Places of a message, with the bytes of its head and body; places of a buffer in the body, with its bytes."""

NOT_COMPRESSED = -1


def check_arrow(path: Path, name: str) -> None:
    """Raise RecordError if the file ``path``, called ``name``, is no Arrow file or promises more than its size can hold."""
    size = path.stat().st_size
    if not size:  # of a chunk without documents
        return
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            unpacked = sum(_unpacked(content))
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise RecordError(f"is no file of Arrow's IPC ({error})", name) from error
    if unpacked > GROWTH * size + SMALL_BYTES:
        raise RecordError(f"has {size:,} bytes that would unpack to {unpacked:,} bytes", name)


def _unpacked(content: mmap.mmap) -> Iterator[int]:
    """Bytes of each buffer when it is unpacked."""
    end = len(content) - len(MAGIC) - 4
    if end < 0 or content[-len(MAGIC) :] != MAGIC:
        raise ValueError("it does not end as one")
    footer = _root(content, end - _number(content, "<i", end))
    if any(True for _ in _structs(content, footer, DICTIONARIES, BLOCK)):
        raise ValueError("it has dictionaries, which beirflow does not write")
    for place, head, _ in _structs(content, footer, BATCHES, BLOCK):
        batch = _field(content, _root(content, place + 8), HEADER)  # behind four bytes that mark it, and its length
        batch += _number(content, "<I", batch)
        if _field(content, batch, COMPRESSION):
            for start, length in _structs(content, batch, BUFFERS, BUFFER):
                found = _number(content, "<q", place + head + start) if length else 0
                yield 0 if found == NOT_COMPRESSED else abs(found)


def _number(content: mmap.mmap, form: str, place: int) -> int:
    if place < 0:
        raise ValueError("it leads out of the file")
    (found,) = struct.unpack_from(form, content, place)
    return int(found)


def _root(content: mmap.mmap, place: int) -> int:
    """Return the beginning of the first table of a flatbuffer."""
    return place + _number(content, "<I", place)


def _field(content: mmap.mmap, table: int, number: int) -> int:
    """Return the place of a table's field; 0 if it has none."""
    fields = table - _number(content, "<i", table)
    place = 4 + 2 * number
    found = _number(content, "<H", fields + place) if place < _number(content, "<H", fields) else 0
    return table + found if found else 0


def _structs(content: mmap.mmap, table: int, number: int, form: struct.Struct) -> Iterator[tuple[Any, ...]]:
    """The members of a field that is a vector."""
    if place := _field(content, table, number):
        place += _number(content, "<I", place)
        for each in range(_number(content, "<I", place)):
            yield form.unpack_from(content, place + 4 + each * form.size)
