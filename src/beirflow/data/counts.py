"""Numbers of documents, counted once instead of at every start of Snakemake and its jobs, and of judged queries."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from beirflow.core.digests import SMALL_BYTES, file_state
from beirflow.core.errors import ConfigError, DataError
from beirflow.core.records import read_json, write_json
from beirflow.data.sources.archives import is_archive
from beirflow.data.sources.beir_files import read_judgements
from beirflow.data.sources.forms import CANDIDATES, Form
from beirflow.data.sources.opening import open_source
from beirflow.data.sources.source import CORPUS, QUERIES
from beirflow.run.undocumented import NOTES

COUNTS = Path(NOTES, "documents")  # folder of the counts, in the working directory


def known_documents(source: str, forum: str | None, form: Form | None = None) -> int:
    """Return the number of documents of a dataset, counted only if its corpus is not the one that was counted before.

    A small corpus is counted every time, which takes as long as telling it from another. A count that cannot be kept or read
    again is no error: it is counted again. One that is wrong nevertheless is noticed when the corpus is prepared. Raises
    ConfigError if the corpus cannot be read.
    """
    corpus = Path(source) if form or is_archive(source) else Path(source, forum or "", CORPUS)
    if not corpus.is_file() or corpus.stat().st_size < SMALL_BYTES:
        return count_documents(source, forum, form)
    # By place and form, so that corpora of one name have files of their own.
    place = json.dumps([str(corpus.resolve()), forum, asdict(form) if form else None])
    state, path = file_state(corpus), COUNTS / f"{hashlib.sha256(place.encode()).hexdigest()}.json"
    with suppress(OSError, DataError):
        known = read_json(path)
        if known.get("state") == state:
            return int(known["documents"])
    documents = count_documents(source, forum, form)
    with suppress(OSError):
        write_json(path, {"state": state, "documents": documents})
    return documents


def count_documents(source: str | Path, forum: str | None = None, form: Form | None = None) -> int:
    """Return the number of lines of a corpus that are not blank; ConfigError if it cannot be read."""
    try:
        return sum(1 for _ in open_source(source, forum, form).lines(CORPUS))
    except DataError as error:
        raise ConfigError(str(error)) from error


def has_candidates(path: str, forum: str | None) -> bool:
    """Test whether a query of a dataset in BEIR form has candidates; true where its queries cannot be read, which others say."""
    try:
        return any(f'"{CANDIDATES}"'.encode() in block for _, block in open_source(path, forum).blocks(QUERIES))
    except (DataError, OSError):
        return True


def count_judged_queries(path: str, forum: str | None, split: str, form: Form | None = None) -> int:
    """Return the number of queries that have judgements; ConfigError if these cannot be read."""
    try:
        return len({judgement.query_id for _, judgement in read_judgements(open_source(path, forum, form), split)})
    except DataError as error:
        raise ConfigError(str(error)) from error
