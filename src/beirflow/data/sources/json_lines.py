"""Lines of JSON, hostile until checked, and the messages about wrong ones."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from beirflow.core.errors import DataError

ENDS = "unexpected end of data"  # part of orjson's message about a truncated line; a comma or a comment too much has another


def lines_in(numbers: Sequence[int], block: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block of whole lines with their numbers, without line feeds; blank lines are skipped."""
    for number, line in zip(numbers, block.split(b"\n"), strict=False):
        if line.strip():
            yield number, line


def read_value(where: str, number: int, line: bytes) -> Any:
    """Return the value of a line of JSON; DataError if it is not JSON in UTF-8."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{where}:{number}: {_explain(line, error)}") from None


def _explain(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as encoding:
        byte = line[encoding.start]
        return f"expected UTF-8, found the byte 0x{byte:02x} at position {encoding.start + 1}; convert the file to UTF-8"
    if "surrogate" in error.msg:
        return f"expected characters, found half of a surrogate pair in {snippet(line)} ({error.msg})"
    content = line.strip()
    cut = ENDS in error.msg and content.startswith(b"{") and content != b"{"  # which is JSON over several lines
    hint = "; is the file truncated?" if cut else ""
    return f"expected a JSON object on one line, found {snippet(line)} ({error.msg}){hint}"


def is_id(value: object) -> bool:
    """Test whether a value can be an id: an integer, or a text that is not empty and has no tabs and line ends."""
    # A judgement is a line with tabs between its columns.
    is_text = isinstance(value, str) and value != "" and not set("\t\n\r") & set(value)
    return is_text or (isinstance(value, int) and not isinstance(value, bool))


def snippet(line: bytes) -> str:
    """Return a line for a message, shortened to its two ends if it is long."""
    return short(line.decode("utf-8", "replace"))


def short(value: object) -> str:
    """Return a value for a message, shortened to its two ends if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:40]} … {text[-40:]}"
