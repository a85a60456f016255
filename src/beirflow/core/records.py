"""Records: the JSON next to a file that states what it was made from.

Records of all steps have the same keys:

- ``path``: its path below the results, so that it cannot be mistaken for another record;
- ``format``: the version of these keys, so that a record is never read by the rules of another;
- ``inputs`` and ``outputs``: paths below the results, each with the sha256 of the file;
- ``made``: how it was computed, such as precision, device and versions, and what was :data:`ASSUMED`;
- ``seconds``, ``bytes`` and ``counts``: cost by stage, and counts;
- ``job`` and ``code``: the rule with its wildcards, and the digest of the code that ran;
- other fields of the step.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from beirflow.core.errors import DataError
from beirflow.core.outside_json import parse_json
from beirflow.core.verified import damaged
from beirflow.core.writing import atomic_path

RECORD_DIGEST = "record_sha256"
"""Last key of every JSON file: the digest of everything before it, so that a record can be checked by itself."""

FORMAT = 1
"""Version of the records that this code writes: another number where a word means something else."""

SHA256 = re.compile(r"[0-9a-f]{64}")

ASSUMED = "assumed"  # key of ``made``: assumed properties that change scores and are not in the files of a model
Digests = Mapping[str, str] | Mapping[Path, str] | Mapping[str | Path, str]  # sha256 by the path of the file


@dataclass(frozen=True)
class Job:
    """Facts about a job that its records state."""

    results: Path  # the folder of all results
    name: str = ""  # the rule and its wildcards, e.g. ``search_chunk/bm25/scifact/chunk-0``, which also names log and benchmark.
    code: str = ""  # digest of the code that runs

    def below(self, path: str | Path) -> str:
        """Return the path of a file below the results, with slashes; ValueError if it is elsewhere."""
        # Links are not followed: a folder of the results may be on another disk, and records name it as it is here.
        relative = Path(os.path.relpath(path, self.results))
        if relative.parts[:1] == ("..",):
            raise ValueError(f"{path} is not below {self.results}")
        return relative.as_posix()

    def digests(self, files: Digests) -> dict[str, str]:
        """Return digests by path below the results."""
        return {self.below(path): digest for path, digest in files.items()}


def write_record(
    path: str | Path,
    job: Job,
    *,
    inputs: Digests,
    outputs: Digests,
    made: Mapping[str, Any] | None = None,
    seconds: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    counts: Mapping[str, int] | None = None,
    **fields: Any,
) -> None:
    """Write the record of what a file was made from; ``seconds`` and ``sizes`` (bytes) are by stage, ``fields`` other keys."""
    record = {"path": job.below(path), "format": FORMAT, **fields}
    for name, values in (("made", made), ("seconds", seconds), ("bytes", sizes), ("counts", counts)):
        record |= {name: dict(values)} if values is not None else {}
    digests = {"inputs": job.digests(inputs), "outputs": job.digests(outputs)}
    write_json(path, {**record, **digests, "job": job.name, "code": job.code})


def output_digest(record: Mapping[str, Any], path: str | Path) -> str:
    """Return the sha256 that a record states for a file in its folder; DataError if the record is not that of this file."""
    # By its name next to the record, since results may be moved as a whole.
    digest = record["outputs"].get(str(PurePosixPath(record["path"]).with_name(Path(path).name)))
    if digest is None:
        raise damaged(path, f"its record is {record['path']}, which does not name it")
    return digest


def together(made: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the ``made`` of several records: by key, the common value, or the sorted list of all values."""
    values_by_key: dict[str, set[Any]] = {}
    for each in made:
        for key, value in each.items():
            # A record that was made from several files has lists already.
            values_by_key.setdefault(key, set()).update(value if isinstance(value, list) else [value])
    return {key: next(iter(values)) if len(values) == 1 else sorted(values) for key, values in values_by_key.items()}


def totals(records: Iterable[Mapping[str, Any]], key: str) -> dict[str, Any]:
    """Return the sum of each number of one kind, such as ``seconds``, over records."""
    total: Counter[str] = Counter()
    for record in records:
        total.update(record.get(key, {}))
    return dict(total)


def made_in(record: Mapping[str, Any], key: str) -> list[str]:
    """Return the values of a key of ``made``, sorted: several in the record of what was made from several, none without it."""
    values = record.get("made", {}).get(key, [])
    return [values] if isinstance(values, str) else sorted(values)


def check_inputs(record_path: str | Path, record: Mapping[str, Any], expected: Mapping[str, str], **fields: Any) -> None:
    """Check the inputs (digests by path below the results) and other fields of a record against those that are used.

    Raises DataError if it was made from something else.
    """
    recorded = {**{name: record.get(name) for name in fields}, **record["inputs"]}
    for name, value in {**fields, **expected}.items():
        if recorded.get(name) != value:
            raise damaged(record_path, f"it was made from the {name} {recorded.get(name)}, but {value} is used here")


def write_json(path: str | Path, record: Mapping[str, Any]) -> None:
    """Write a record as indented UTF-8 JSON, atomically, with its own digest as the last key; not-a-number is refused."""
    content = _with_digest(record)
    with atomic_path(path) as partial:
        partial.write_bytes(content)


def format_problem(record: Mapping[str, Any]) -> str:
    """Return why this code does not read the format of a record; empty if it does."""
    found = record.get("format")
    if found == FORMAT:
        return ""
    return f"has the format {found!r}, and this beirflow reads the format {FORMAT}: use the one that wrote it, or a newer one"


def read_json(path: str | Path) -> dict[str, Any]:
    """Return what :func:`write_json` wrote, without its digest.

    Raises DataError if the file does not hold what was written, or is a record of another format.
    """
    content = Path(path).read_bytes()
    try:
        record = parse_json(content)
        del record[RECORD_DIGEST]
        # Byte for byte, so that not even white space can be changed unnoticed.
        whole = content == _with_digest(record)
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise damaged(path, "this is not the record that beirflow wrote")
    if "format" in record and (problem := format_problem(record)):
        raise DataError(f"{path} {problem}")
    return record


def _with_digest(record: Mapping[str, Any]) -> bytes:
    content = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8")
    # Written only once: Python's JSON with an indent is slow, and every record that is read comes here.
    others = content.removesuffix(b"\n}") + b"," if record else b"{"
    return others + f'\n  "{RECORD_DIGEST}": "{hashlib.sha256(content).hexdigest()}"\n}}\n'.encode()
