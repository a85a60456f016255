"""Entries of the shared cache: what a step made, by all that determines it.

An entry is the file ``<key>/entry.json`` below the place, with the fields of the record and the digest of the content, and the
content next to it, named by that digest. The content is written first, so that an entry names a whole file, whoever else writes
the same entry. A sound entry is never changed; one whose content does not have its digest is replaced. Nothing is deleted but
what a killed writer left.
"""

import hashlib
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
from pyarrow import fs

import beirflow
from beirflow.core.artifact import SOURCES, TAKEN, Artifact, Made
from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError, DataError
from beirflow.core.outside_json import parse_json
from beirflow.core.records import FORMAT, SHA256
from beirflow.core.writing import DigestingWriter
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.own_candidates import own_candidates
from beirflow.extensions.cache.drawn import check_drawn
from beirflow.families.first_stages import FirstRun
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.candidates import Candidates
from beirflow.run.rule_call import Work
from beirflow.run.rule_job import OWN, TRIGGER

logger = logging.getLogger(__name__)

ENTRY = "entry.json"
MOST_BYTES = 1 << 20  # of an entry without its content
BLOCK_BYTES = 1 << 22  # of a content that are in memory

SECONDS = 10.0  # in which a bucket answers, or is not used for this file

INPUTS = (Documents, Queries, FirstRun, ModelRecord)
"""Inputs of the steps that make representations of texts or scores of pairs with a model, which are cached."""

NOT_DECIDING = {"name", "system", "dataset", "first", "offline", "model", "revision", "query_model", "query_revision"}
"""Settings and wildcards that name something, or a place of a model: digests of the inputs say what it is."""

VARIANT = "variant_of"  # setting that names a system, too, and decides by being there

OF_A_USER = ("system", SOURCES)
"""Facts of a record that name systems or files of one's own results; in the cache there is none of them."""

LEFT = re.compile(r"\.[0-9a-f]{16}")  # end of the name of a file that is being written to a folder
LEFT_SECONDS = 24 * 3600.0  # after which its writer was killed

OF_A_MODEL = ("files", "card", "encoder", "arguments")
"""Keys of the record of a model that say what it computes."""


def take(place: str, work: Work, path: Path) -> tuple[Made, str] | None:
    """Take the file of a step from the cache; return the facts of its record and its digest, or None if it must be computed.

    The content has the digest in its entry, and a few drawn texts are represented here again.
    """
    if not _is_cached(work):
        return None
    key = key_of(work)
    stays = f"unless its digest is wrong, the entry {key} stays: remove it to have it kept again"
    with _without_failing(place, f"it is computed here; {stays}"):
        files, folder = _opened(place)
        entry = _read_entry(files, f"{folder}/{key}/{ENTRY}")
        if entry is None:
            return None
        digest, fields = entry["digest"], entry["fields"]
        _copy_from(files, f"{folder}/{key}/{digest}{path.suffix}", path, digest)
        here = check_drawn(work, path, fields)
        logger.info("taken from the cache %s: entry %s, computed by beirflow %s", place, key, entry["beirflow"])
        own = {name: here[name] for name in OF_A_USER if name in here}
        return Made(None, **fields | own, **{TAKEN: {"place": place, "entry": key}}), digest
    return None


def keep(place: str, work: Work, path: Path, fields: Mapping[str, Any]) -> None:
    """Keep a computed file in the cache, unless its entry is there and sound."""
    if TAKEN in fields or not _is_cached(work):
        return
    key, digest = key_of(work), file_digest(path)
    with _without_failing(place, "others cannot take this file from there"):
        files, folder = _opened(place)
        _remove_left(files, f"{folder}/{key}")
        if _is_sound(files, f"{folder}/{key}", path.suffix):
            return
        facts = {name: value for name, value in fields.items() if name not in ("sizes", *OF_A_USER)}
        entry = {"format": FORMAT, "beirflow": beirflow.__version__, "digest": digest, "fields": facts}
        with path.open("rb") as content:
            _write(files, f"{folder}/{key}/{digest}{path.suffix}", iter(lambda: content.read(BLOCK_BYTES), b""))
        _write(files, f"{folder}/{key}/{ENTRY}", [json.dumps(entry, ensure_ascii=False, allow_nan=False).encode()])


def key_of(work: Work) -> str:
    """Return the sha256 of all that determines the file of a step: texts, model, settings, and the code that computes."""
    params = {name: value for name, value in work.rule.params.items() if name not in OWN}
    deciding = {name: value for name, value in params.items() if name.endswith("code") or not TRIGGER.fullmatch(name)}
    inputs = [[type(each).__name__, _digest_of(each)] for each in work.opened]
    decides = [FORMAT, work.rule.params["function"], _without_names(deciding), _without_names(work.rule.wildcards), inputs]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def _is_cached(work: Work) -> bool:
    """Test whether a step searches a chunk, or represents texts or scores pairs with a model and reads nothing else.

    Where a dataset states the documents that a query ranks, few are searched.
    """
    if work.makes is Candidates:
        return own_candidates(work.arguments["queries"].path)[0] is None
    return all(isinstance(each, INPUTS) for each in work.opened) and any(isinstance(each, ModelRecord) for each in work.opened)


def _digest_of(opened: Artifact) -> Any:
    """Return what an input is, wherever it lies: records have times and names of places, which differ."""
    return {key: opened.record.get(key) for key in OF_A_MODEL} if isinstance(opened, ModelRecord) else opened.digest


def _without_names(value: Any) -> Any:
    if isinstance(value, Mapping):
        decides = {key: bool(each) if key == VARIANT else each for key, each in value.items() if key not in NOT_DECIDING}
        return {key: _without_names(each) for key, each in decides.items()}
    return value


@contextmanager
def _without_failing(place: str, consequence: str) -> Iterator[None]:
    """Say why the cache cannot be used, in place of an error."""
    try:
        yield
    except (OSError, BeirflowError, pa.ArrowException) as error:
        logger.warning("the cache %s: %s; %s", place, error, consequence)


def _opened(place: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a place, and its folder there.

    A bucket has the options ``endpoint_override``, ``scheme`` and ``region`` in a query, as Arrow has them.
    """
    address = urlsplit(place)
    if address.scheme != "s3":
        return fs.FileSystem.from_uri(place)
    options = dict(parse_qsl(address.query))
    patience = {"connect_timeout": SECONDS, "request_timeout": SECONDS, "retry_strategy": fs.AwsStandardS3RetryStrategy(1)}
    return fs.S3FileSystem(**options, **patience), f"{address.netloc}{address.path}".rstrip("/")


def _read_entry(files: fs.FileSystem, path: str) -> dict[str, Any] | None:
    """Read an entry, None if it is not there; DataError if it does not have the form that :func:`keep` writes."""
    info = files.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        return None
    content = b""
    if info.type == fs.FileType.File and info.size <= MOST_BYTES:
        with files.open_input_stream(path) as stream:
            content = stream.read(MOST_BYTES)
    entry: Any = None
    with suppress(ValueError, RecursionError):
        entry = parse_json(content)
    types = {"format": int, "beirflow": str, "digest": str, "fields": dict}
    if not isinstance(entry, dict) or {key: type(value) for key, value in entry.items()} != types:
        raise DataError(f"{path} is damaged")
    if not SHA256.fullmatch(entry["digest"]) or TAKEN in entry["fields"]:
        raise DataError(f"{path} is damaged")
    return entry


def _is_sound(files: fs.FileSystem, folder: str, suffix: str) -> bool:
    """Test whether there is an entry whose content has its digest. It is read again: who comes here could not use it."""
    with suppress(DataError, OSError):
        if entry := _read_entry(files, f"{folder}/{ENTRY}"):
            _copy_from(files, f"{folder}/{entry['digest']}{suffix}", Path(os.devnull), entry["digest"])
            return True
    return False


def _remove_left(files: fs.FileSystem, folder: str) -> None:
    """Remove what killed writers left in a folder; a bucket has no such files."""
    if isinstance(files, fs.LocalFileSystem):
        for path in Path(folder).glob("*"):
            if LEFT.fullmatch(path.suffix) and path.stat().st_mtime < time.time() - LEFT_SECONDS:
                path.unlink(missing_ok=True)


def _copy_from(files: fs.FileSystem, source: str, path: Path, digest: str) -> None:
    """Copy a content; DataError if it has another digest."""
    with DigestingWriter(path) as target, files.open_input_stream(source) as stream:
        while block := stream.read(BLOCK_BYTES):
            target.write(block)
        if (found := target.digest()) != digest:
            raise DataError(f"{source} is damaged: its sha256 is {found}")


def _write(files: fs.FileSystem, path: str, blocks: Any) -> None:
    """Write a file that is whole or absent: a bucket has it once all is sent, a folder once it is renamed."""
    in_folder = isinstance(files, fs.LocalFileSystem)
    partial = f"{path}.{secrets.token_hex(8)}" if in_folder else path
    if in_folder:
        files.create_dir(str(Path(path).parent), recursive=True)
    try:
        with files.open_output_stream(partial) as stream:
            for block in blocks:
                stream.write(block)
        if in_folder:
            files.move(partial, path)
    except BaseException:
        with suppress(OSError):
            files.delete_file(partial)
        raise
