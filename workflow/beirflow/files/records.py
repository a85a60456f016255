"""Records: the JSON next to a file that states what it was made from.

Records of all steps have the same keys:

- ``path``: its place below the results, so that it is never taken for another record;
- ``format``: the version of these keys, so that a record is never read by the rules of another;
- ``inputs`` and ``outputs``: paths below the results, each with the sha256 of the file;
- ``made``: how it was computed, such as precision, device and versions, and what was :data:`ASSUMED`;
- ``seconds``, ``bytes`` and ``counts``: cost by stage, and counts;
- ``job`` and ``code``: the rule with its wildcards, and the digest of the code that ran;
- other facts of the step.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from beirflow.files.outside_json import parse_json
from beirflow.files.verified import damaged
from beirflow.files.writing import atomic_path

RECORD_DIGEST = "record_sha256"
"""Last key of every JSON file: the digest of everything before it, so that a record can be checked by itself."""

FORMAT = 1
"""Of the records that this code writes; another number where a word means something else."""

SHA256 = re.compile(r"[0-9a-f]{64}")

ASSUMED = "assumed"
"""Key of ``made``: sentences on what decides over scores, is not in the files of a model, and was assumed."""

Digests = Mapping[str, str] | Mapping[Path, str] | Mapping[str | Path, str]
"""sha256 by the path of the file."""


@dataclass(frozen=True)
class Job:
    """Facts about a job that its records state.

    Attributes:
        results: The folder of all results.
        name: The rule and its wildcards, e.g. ``search_chunk/bm25/scifact/chunk-0``, which also names log and benchmark.
        code: Digest of the code that runs.
    """

    results: Path
    name: str = ""
    code: str = ""

    def below(self, path: str | Path) -> str:
        """The path of a result below the results.

        Args:
            path: The file.

        Returns:
            Its path below ``results``, with slashes.

        Raises:
            ValueError: The file is elsewhere.
        """
        relative = Path(os.path.relpath(path, self.results))
        if relative.parts[:1] == ("..",):
            raise ValueError(f"{path} is not below {self.results}")
        return relative.as_posix()

    def digests(self, files: Digests) -> dict[str, str]:
        """Digests by path below the results."""
        return {self.below(path): digest for path, digest in files.items()}


OF_EVERY_RECORD = ("path", "format", "inputs", "outputs", "job", "code", RECORD_DIGEST)
"""Keys that :func:`write_record` gives each record."""


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
    **facts: Any,
) -> None:
    """Write what a file was made from.

    Args:
        path: The JSON file to create or replace.
        job: The job that writes it.
        inputs: Results that were read.
        outputs: Results that were written.
        made: What computed them.
        seconds: How long it took, by stage.
        sizes: Bytes on disk, by stage.
        counts: What was counted, by name.
        **facts: What else there is to say.
    """
    record = {"path": job.below(path), "format": FORMAT, **facts}
    for name, values in (("made", made), ("seconds", seconds), ("bytes", sizes), ("counts", counts)):
        record |= {name: dict(values)} if values is not None else {}
    digests = {"inputs": job.digests(inputs), "outputs": job.digests(outputs)}
    write_json(path, {**record, **digests, "job": job.name, "code": job.code})


def output_digest(record: Mapping[str, Any], path: str | Path) -> str:
    """The sha256 that a record says of a file in its folder.

    Args:
        record: What the record holds.
        path: The file.

    Returns:
        Its digest.

    Raises:
        DataError: The record is not that of this file.
    """
    digest = record["outputs"].get(str(PurePosixPath(record["path"]).with_name(Path(path).name)))
    if digest is None:
        raise damaged(path, f"its record is {record['path']}, which does not name it")
    return digest


def together(made: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the computing facts of several files.

    Args:
        made: ``made`` of their records.

    Returns:
        By key, the value where all agree, else the sorted list of all values.
    """
    values_by_key: dict[str, set[Any]] = {}
    for each in made:
        for key, value in each.items():
            values_by_key.setdefault(key, set()).update(value if isinstance(value, list) else [value])
    return {key: next(iter(values)) if len(values) == 1 else sorted(values) for key, values in values_by_key.items()}


def assumed_in(record: Mapping[str, Any]) -> list[str]:
    """Return the assumptions behind a run.

    Args:
        record: Its record, or another that has ``made``.

    Returns:
        Sentences, sorted; empty where nothing was assumed.
    """
    sentences = record.get("made", {}).get(ASSUMED, [])
    return [sentences] if isinstance(sentences, str) else sorted(sentences)


def check_inputs(record_path: str | Path, record: Mapping[str, Any], expected: Mapping[str, str], **facts: Any) -> None:
    """Make sure that a file was made from what it is used with.

    Args:
        record_path: The record of the file.
        record: What it holds.
        expected: Digests of inputs by path below the results.
        **facts: Other keys of the record, such as ``system``, and their values.

    Raises:
        DataError: It was made from something else.
    """
    stated = {**{name: record.get(name) for name in facts}, **record["inputs"]}
    for name, value in {**facts, **expected}.items():
        if stated.get(name) != value:
            raise damaged(record_path, f"it was made from the {name} {stated.get(name)}, but {value} is used here")


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
        DataError: The file does not hold what was written.
    """
    content = Path(path).read_bytes()
    try:
        record = parse_json(content)
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
