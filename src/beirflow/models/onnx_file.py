"""The weights of an ONNX file: their types, and the external files that hold them."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.core.errors import ModelError

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
FILE_NAME = re.compile(r"[\w-][\w.-]*")  # the name of a file in the folder of the graph


class OnnxFile(NamedTuple):
    """Facts of an ONNX file about its weights."""

    precision: str  # ``float32``, or the lowest type that weights are stored in
    elsewhere: tuple[str, ...]  # names of the other files that hold weights


def read_onnx(path: Path) -> OnnxFile:
    """Read precision and place of the weights of an ONNX file.

    Raises ModelError for any other file, for weights outside its folder, and where the package onnx is not installed.
    """
    status = path.stat()
    return _read(path, status.st_size, status.st_mtime_ns)


@cache
def _read(path: Path, size: int, changed: int) -> OnnxFile:
    """Read the file, once for each of its states."""
    numbers: Counter[int] = Counter()
    names: set[str] = set()
    for kind, count, places in _tensors_of(path):
        numbers[kind] += count
        names |= places
    if not numbers:
        raise ModelError(f"{path} holds no weights, so it is not an ONNX file of a model; fetch or export the model again")
    if strange := sorted(name for name in names if not FILE_NAME.fullmatch(name)):
        raise ModelError(f"{path} names weights outside its folder: {', '.join(strange)}; export the model again")
    notable = NOTABLE_SHARE * numbers.total()
    lowest = next((name for kind, name in PRECISIONS.items() if numbers[kind] > notable), "float32")
    return OnnxFile(lowest, tuple(sorted(names)))


def _tensors_of(path: Path) -> list[tuple[int, int, set[str]]]:
    """Return type, count of numbers and names of external files of each tensor, also of subgraphs and sparse tensors."""
    try:
        import onnx
    except ImportError as error:
        todo = "pip install 'beirflow[onnx]', or name torch weights in 'weights'"
        raise ModelError(f"{path} is read by onnx, which is not installed here ({error}); install it with: {todo}") from error

    def tensors(message: Any) -> Iterator[Any]:
        """Yield the tensors of a message and of its parts."""
        if isinstance(message, onnx.TensorProto):
            yield message
            return
        for field, value in message.ListFields():
            if field.message_type:
                for part in [value] if hasattr(value, "ListFields") else value:
                    yield from tensors(part)

    try:
        return [
            (each.data_type, prod(each.dims), {entry.value for entry in each.external_data if entry.key == "location"})
            for each in tensors(onnx.load(path, load_external_data=False))
        ]
    except Exception as error:  # protobuf has exceptions of its own
        raise ModelError(f"{path} cannot be read as an ONNX file ({error}); fetch or export the model again") from error
