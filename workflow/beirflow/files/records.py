"""Records: JSON files that end with their own digest."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.files.verified import damaged
from beirflow.files.writing import atomic_path

RECORD_DIGEST = "record_sha256"
"""Last key of every JSON file: the digest of what stands above it, so that a record says itself whether it is whole."""


def write_json(path: str | Path, record: Mapping[str, Any]) -> None:
    """Write a record as indented UTF-8 JSON, atomically, with its own digest as the last key.

    Args:
        path: The file to create or replace.
        record: Whatever the ``json`` module can write; not-a-number is refused.
    """
    content = _with_digest(record)
    with atomic_path(path) as partial:
        partial.write_bytes(content)


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a record that :func:`write_json` wrote.

    Args:
        path: The file.

    Returns:
        The record, without its digest.

    Raises:
        DataError: This is not what was written.
    """
    content = Path(path).read_bytes()
    try:
        record = json.loads(content)
        del record[RECORD_DIGEST]
        whole = content == _with_digest(record)
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise damaged(path, "this is not the record that beirflow wrote")
    return record


def _with_digest(record: Mapping[str, Any]) -> bytes:
    digest = hashlib.sha256(_json(record)).hexdigest()
    return _json({**record, RECORD_DIGEST: digest}) + b"\n"


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8")
