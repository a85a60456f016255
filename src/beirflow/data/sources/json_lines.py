"""Lines of JSON, hostile until checked: their values, ids and grades, and the messages about wrong ones."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from beirflow.core.errors import DataError

# As many digits as certainly fit into 64 bits; zeros behind a point change nothing.
GRADE = re.compile(r"([+-]?[0-9]{1,18})(?:\.0*)?")

Test = Callable[[Any], bool]

LARGEST = 10**18

SURROGATE = re.compile(r"[\ud800-\udfff]")

ENDS = "unexpected end of data"  # part of orjson's message about a truncated line; a comma or a comment too much has another


def lines_in(numbers: Sequence[int], block: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block of whole lines with their numbers, without line feeds; blank lines are skipped."""
    for number, line in zip(numbers, block.split(b"\n"), strict=False):
        if line.strip():
            yield number, line


def read_value(where: str, number: int, line: bytes) -> Any:
    """Return the value of a line of JSON; DataError if it is not JSON in UTF-8.

    A text with half of a surrogate pair, which no UTF-8 has, is a :class:`HalfPair`: it matters only to who reads it.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if "surrogate" in error.msg:
            with suppress(ValueError, RecursionError):
                return _without_half_pairs(json.loads(line.decode("utf-8")))
        raise DataError(f"{where}:{number}: {_explain(line, error)}") from None


def objects_in(where: str, lines: Iterable[tuple[int, bytes]], expected: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and JSON object of lines; DataError for anything else, where an object with ``expected`` keys is."""
    for number, line in lines:
        record = read_value(where, number, line)
        if not isinstance(record, dict):
            wanted = f"expected a JSON object{f' with {expected}' if expected else ''}"
            raise DataError(f"{where}:{number}: {wanted}, found {short(record)}")
        yield number, record


@dataclass(frozen=True)
class HalfPair:
    """A text that is none: it has half of a surrogate pair."""

    text: str

    def __repr__(self) -> str:
        return f"half of a surrogate pair in {self.text!a}"


def _without_half_pairs(value: Any) -> Any:
    """Return a value of JSON with a :class:`HalfPair` for each text that has no UTF-8."""
    if isinstance(value, dict):
        return {key: _without_half_pairs(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(_without_half_pairs, value))
    return HalfPair(value) if isinstance(value, str) and not value.isascii() and SURROGATE.search(value) else value


def _explain(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as encoding:
        byte = line[encoding.start]
        return f"expected UTF-8, found the byte 0x{byte:02x} at position {encoding.start + 1}; convert the file to UTF-8"
    content = line.strip()
    cut = ENDS in error.msg and content.startswith(b"{") and content != b"{"  # which is JSON over several lines
    hint = "; is the file truncated?" if cut else ""
    return f"expected a JSON object on one line, found {snippet(line)} ({error.msg}){hint}"


def is_id(value: object) -> bool:
    """Test whether a value can be an id: an integer, or a text that is not empty and has no tabs and line ends."""
    # A judgement is a line with tabs between its columns.
    if isinstance(value, str):
        return value != "" and not set("\t\n\r") & set(value)
    return isinstance(value, int) and not isinstance(value, bool)


def value_of(where: str, record: Mapping[str, Any], key: str, expected: str, is_right: Test, todo: str = "") -> Any:
    """Return the value of a key; DataError, which begins with ``where`` and ends with ``todo``, if it is anything else."""
    if not is_right(value := record.get(key)):
        raise DataError(f"{where}: {wrong_value(record, key, expected)}{todo}")
    return value


def id_of(where: str, record: Mapping[str, Any], key: str) -> str:
    """Return an id as text; DataError, which begins with ``where``, if there is none."""
    return str(value_of(where, record, key, "a non-empty string without tabs and line ends, or an integer", is_id))


def is_list_of(test: Test) -> Test:
    """Return a test for lists of what passes a test."""
    return lambda value: isinstance(value, list) and all(map(test, value))


def is_object(value: object) -> bool:
    """Test whether a value is an object."""
    return isinstance(value, dict)


def is_text(value: object) -> bool:
    """Test whether a value is a string."""
    return isinstance(value, str)


def grade_of(value: object) -> int | None:
    """Return the grade of a judgement, which may be written as 2, "2" or 2.0; None for what is none."""
    if isinstance(value, str):
        return int(match[1]) if (match := GRADE.fullmatch(value)) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if abs(value) < LARGEST else None


def wrong_value(record: Mapping[str, Any], key: str, expected: str) -> str:
    """Say that an object lacks a key, and which it has, or what was expected in place of its value."""
    if key in record:
        return f"{key!r} must be {expected}, found {'null' if record[key] is None else short(record[key])}"
    return f"{key!r} is missing; keys here: {short(', '.join(record)).strip(chr(39)) or 'none'}"


def snippet(line: bytes) -> str:
    """Return a line for a message, shortened to its two ends if it is long."""
    return short(line.decode("utf-8", "replace"))


def short(value: object) -> str:
    """Return a value for a message, shortened to its two ends if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:40]} … {text[-40:]}"
