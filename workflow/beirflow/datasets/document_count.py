"""How many documents a dataset has, counted once and not at every start of Snakemake and of each of its jobs."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from beirflow.datasets.archives import is_archive
from beirflow.datasets.beir_files import count_documents
from beirflow.files.digests import SMALL_BYTES, file_state
from beirflow.files.errors import DataError
from beirflow.files.records import read_json, write_json

COUNTS = Path(".snakemake/beirflow/documents")
"""Where counts are kept, in the working directory: next to Snakemake's own notes, and as safe to delete."""


def known_documents(source: str, forum: str | None) -> int:
    """Number of documents of a dataset, counted only if its corpus is not the one that was counted before.

    A small corpus is counted every time, which takes as long as telling it from another. A count that cannot be kept or read
    again is no error: it is counted again. One that is wrong nevertheless is noticed when the corpus is prepared.

    Args:
        source: Folder or archive of the dataset.
        forum: Folder of a forum inside it, or None.

    Returns:
        The count.

    Raises:
        ConfigError: The corpus cannot be read.
    """
    corpus = Path(source) if is_archive(source) else Path(source, forum or "", "corpus.jsonl")
    if not corpus.is_file() or corpus.stat().st_size < SMALL_BYTES:
        return count_documents(source, forum)
    state, path = file_state(corpus), _kept_in(corpus, forum)
    with suppress(OSError, DataError):
        known = read_json(path)
        if known.get("state") == state:
            return int(known["documents"])
    documents = count_documents(source, forum)
    with suppress(OSError):
        write_json(path, {"state": state, "documents": documents})
    return documents


def _kept_in(corpus: Path, forum: str | None) -> Path:
    """The file for a corpus, by its place, so that corpora of one name have files of their own."""
    place = json.dumps([str(corpus.resolve()), forum])
    return COUNTS / f"{hashlib.sha256(place.encode()).hexdigest()}.json"
