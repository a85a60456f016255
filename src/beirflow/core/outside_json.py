"""JSON of unknown origin: files of models, records that somebody sent, answers of servers."""

import json
import stat
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError

LARGEST_JSON = 64 << 20  # maximum size of a configuration of a model, in bytes


def parse_json(content: str | bytes, **options: Any) -> Any:
    """Parse JSON of unknown origin like ``json.loads``; ValueError if it is not JSON in UTF-8, or nested too deeply."""
    try:
        return json.loads(content, **options)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model; raise ModelError for anything else, or a file larger than any configuration."""
    content = read_json_file(path)
    if not isinstance(content, dict):
        raise ModelError(f"{path} holds no JSON object")
    return content


def read_optional(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model; empty without the file."""
    return read_object(path) if path.is_file() else {}


def check_file(path: Path, largest: int) -> None:
    """Refuse anything but a regular file of at most ``largest`` bytes, before it is read: a device has no end."""
    try:
        status = path.stat()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}); fetch or copy the model again") from error
    if not stat.S_ISREG(status.st_mode):
        leads = f" but leads to {path.resolve()}" if path.is_symlink() else ""
        raise ModelError(f"{path} is no regular file{leads}; put a file of the model in its place, or remove it")
    if status.st_size > largest:
        problem = f"{path} has {status.st_size:,} bytes, too many for a file that describes a model"
        raise ModelError(f"{problem}; at most {largest:,} were expected. If it is no part of the model, remove it")


def read_json_file(path: Path) -> Any:
    """Read a JSON file of a model; raise ModelError if it cannot be read or is larger than any configuration."""
    check_file(path, LARGEST_JSON)
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({error}); fetch or save the model again") from error
