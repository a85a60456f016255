"""The weights of an ONNX file: their types, and the external files that hold them.

Only the frame of the file is read, field by field as protobuf writes it; weights are skipped, however large.
"""

import mmap
import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import NamedTuple

from beirflow.files.errors import ModelError

PRECISIONS = {
    23: "float4",
    21: "int4",
    22: "int4",
    **dict.fromkeys((17, 18, 19, 20), "float8"),
    2: "int8",
    3: "int8",
    10: "float16",
    16: "bfloat16",
}
"""Precision of stored weights by ONNX's number of their type, the lowest first."""

NOTABLE_SHARE = 0.01  # least share of a type among all numbers of a graph: fewer are constants, and no weights

BESIDE = re.compile(r"[\w-][\w.-]*")  # the name of a file beside the graph

VARINT, EIGHT_BYTES, MESSAGE, FOUR_BYTES = 0, 1, 2, 5  # kinds of fields in protobuf

PARTS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Fields of the messages of onnx.proto that lead to tensors, with the messages that they hold."""


class OnnxFile(NamedTuple):
    """Facts of an ONNX file about its weights."""

    precision: str  # ``float32``, or the lowest type that weights are stored in
    elsewhere: tuple[str, ...]  # names of the files beside it that hold weights


def read_onnx(path: Path) -> OnnxFile:
    """Read precision and place of the weights of an ONNX file.

    Raises ModelError for any other file, and for weights elsewhere than beside it.
    """
    status = path.stat()
    return _read(path, status.st_size, status.st_mtime_ns)


@cache
def _read(path: Path, size: int, changed: int) -> OnnxFile:
    """Read the file, once for each of its states."""
    numbers: dict[int, int] = {}
    names: set[str] = set()
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for start, end in _tensors(data):
                kind, count, location = _tensor(data, start, end)
                numbers[kind] = numbers.get(kind, 0) + count
                names |= {location} if location is not None else set()
    except (OSError, ValueError, IndexError) as error:
        raise ModelError(f"{path} cannot be read as an ONNX file ({error}); fetch or export the model again") from error
    if not numbers:
        raise ModelError(f"{path} holds no weights, so it is not an ONNX file of a model; fetch or export the model again")
    if strange := sorted(name for name in names if not BESIDE.fullmatch(name)):
        raise ModelError(f"{path} names weights outside its folder: {', '.join(strange)}; export the model again")
    notable = NOTABLE_SHARE * sum(numbers.values())
    lowest = next((name for kind, name in PRECISIONS.items() if numbers.get(kind, 0) > notable), "float32")
    return OnnxFile(lowest, tuple(sorted(names)))


def _tensors(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield the beginning and end of each tensor of a model, those of its subgraphs too."""
    waiting = [("model", 0, len(data))]
    while waiting:
        message, start, end = waiting.pop()
        if message == "tensor":
            yield start, end
            continue
        for number, kind, first, last in _fields(data, start, end):
            if kind == MESSAGE and number in PARTS[message]:
                waiting.append((PARTS[message][number], first, last))


def _tensor(data: mmap.mmap, start: int, end: int) -> tuple[int, int, str | None]:
    """Return the type of a tensor, the count of its numbers, and the file that holds them; None if they are here."""
    sizes: list[int] = []
    type_number, location = 0, None
    for number, kind, first, last in _fields(data, start, end):
        if number == 1 and kind == VARINT:
            sizes.append(first)
        elif number == 1:
            while first < last:
                size, first = _varint(data, first)
                sizes.append(size)
        elif number == 2:
            type_number = first
        elif number == 13:
            entry = {key: bytes(data[at:to]).decode() for key, _, at, to in _fields(data, first, last)}
            location = entry.get(2) if entry.get(1) == "location" else location
    return type_number, prod(sizes), location


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, kind, value of an integer or else start, and end of each field of a message."""
    while start < end:
        tag, start = _varint(data, start)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, start = _varint(data, start)
            yield number, kind, value, start
            continue
        if kind == MESSAGE:
            length, start = _varint(data, start)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of kind {kind} at byte {start}")
        if start + length > end:
            raise ValueError(f"a field at byte {start} goes on beyond its message")
        yield number, kind, start, start + length
        start += length


def _varint(data: mmap.mmap, start: int) -> tuple[int, int]:
    """Read an integer, seven bits a byte; return it with its end."""
    value = 0
    # Ten groups of seven bits hold the 64 bits of the largest integer.
    for shift in range(0, 70, 7):
        byte = data[start]
        start += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, start
    raise ValueError(f"an integer at byte {start} has no end")
