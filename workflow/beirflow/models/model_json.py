"""The JSON files of a model folder, from outside: read with limits, and never from outside the folder."""

from pathlib import Path, PurePosixPath
from typing import Any

from beirflow.files.errors import ModelError
from beirflow.files.outside_json import parse_json

MODULES = "modules.json"
COLBERT = "artifact.metadata"
"""JSON file that ColBERT writes beside its models."""

ROUTER_CONFIGS = ("router_config.json", "config.json")
"""Files that describe a Router of sentence-transformers; the second one that of its earlier Asym."""

LARGEST_JSON = 64 << 20
"""Bytes: more than any configuration has."""


def listed_modules(folder: Path) -> list[dict[str, str]]:
    """Return ``type`` and ``path`` of each entry of ``modules.json``; raise ModelError for any other content."""
    entries = read_json_file(folder / MODULES)
    listed = isinstance(entries, list) and entries
    if not listed or not all(isinstance(entry, dict) and isinstance(entry.get("type"), str) for entry in entries):
        raise ModelError(f"{folder / MODULES} does not hold a list of modules, as sentence-transformers writes it")
    return [{"type": entry["type"], "path": str(entry.get("path", ""))} for entry in entries]


def below(folder: Path, path: str) -> str:
    """Return the path of a module below the folder of its model, with slashes; empty for the folder itself.

    Raises ModelError for a path that leads elsewhere.
    """
    parts = PurePosixPath(path).parts
    if "\\" in path or ".." in parts or PurePosixPath(path).is_absolute():
        raise ModelError(f"{folder}: the module {path!r} is outside the folder of the model")
    return PurePosixPath(*parts).as_posix() if parts else ""


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model; raise ModelError for anything else, or a file larger than any configuration."""
    content = read_json_file(path)
    if not isinstance(content, dict):
        raise ModelError(f"{path} holds no JSON object")
    return content


def read_json_file(path: Path) -> Any:
    """Read a JSON file of a model; raise ModelError if it cannot be read or is larger than any configuration."""
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise ModelError(f"{path} is too large for a configuration")
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({error}); fetch or save the model again") from error
