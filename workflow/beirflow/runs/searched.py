"""The start of the search of a chunk: ids of queries and documents, and the checked records of their representations."""

import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.datasets.corpus_files import Documents, PreparedCorpus, read_table, sources_of
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.layout import record_of
from beirflow.files.records import Job, check_inputs, read_json

EXPANSION_SOURCE = "expansion_source_sha256"
"""Key in the record of a chunk of a given expansion: the digest of the file that it was read from."""


class Ids(NamedTuple):
    """The ids of the queries of a dataset and of the documents of one chunk.

    Attributes:
        queries: Ids of the queries, in the order of their table.
        documents: Ids of the documents of the chunk, likewise.
        own: For each query the row of the document that is dropped because it has the query's id, or -1.
        pairs: Numbers of queries, ascending, and rows of documents, int64, of candidates that a dataset states; else None.
    """

    queries: pa.Array
    documents: pa.Array
    own: np.ndarray
    pairs: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def self_matches(self) -> int:
        """Documents that are dropped."""
        return int((self.own >= 0).sum())


def read_ids(corpus: PreparedCorpus, chunk: int, *, drop_self_matches: bool) -> Ids:
    """Read the ids of the queries and of the documents of one chunk.

    Args:
        corpus: The corpus.
        chunk: Number of the chunk.
        drop_self_matches: True to drop a document whose id is the query's id.

    Returns:
        The ids.

    Raises:
        DataError: A file is not the one that was recorded.
    """
    queries = read_table(corpus.queries_path)["query_id"].combine_chunks()
    with Documents(corpus.documents_path) as file:
        documents = file.read([chunk], ["doc_id"])["doc_id"].combine_chunks()
    if drop_self_matches:
        return Ids(queries, documents, places_of(queries, documents))
    return Ids(queries, documents, np.full(len(queries), -1))


def places_of(strings: pa.Array, among: pa.Array) -> np.ndarray:
    """Find the places of some strings among many others. The many are looked up in the few, which takes a fraction of the time.

    Args:
        strings: Different strings.
        among: Different strings of the same type, any number.

    Returns:
        The place of each, or -1 where it is missing; int64 of shape (strings,).
    """
    found = pc.index_in(among, value_set=strings)
    known = pc.indices_nonzero(pc.is_valid(found))
    places = np.full(len(strings), -1, np.int64)
    places[found.take(known).to_numpy()] = known.to_numpy()
    return places


def read_searched(sources: Mapping[str, str], model_path: str, job: Job, *, system: str) -> dict[str, dict[str, Any]]:
    """Read the records of representations, and make sure that the model made them from these texts.

    Args:
        sources: By path of each representation, ``queries.parquet`` or ``documents.parquet``.
        model_path: The record of the model.
        job: The job that searches.
        system: The system that made it.

    Returns:
        The records, by path of the representation.

    Raises:
        DataError: A record was damaged, or is of something else.
    """
    records = {}
    for path, source_path in sources.items():
        records[path] = record = read_json(record_of(path))
        check_inputs(record_of(path), record, sources_of(job, source_path, model_path), system=system)
    return records


def read_expansion(expansion_path: str, path: str, record: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """Read the record of what was added to the documents of a chunk, and make sure that they were indexed or weighed with it.

    Args:
        expansion_path: What was added.
        path: What was made of the documents.
        record: Its record.
        job: The job that searches.

    Returns:
        The record.

    Raises:
        DataError: A record was damaged, or something else was added.
    """
    check_inputs(record_of(path), record, job.digests({record_of(expansion_path): file_digest(record_of(expansion_path))}))
    return read_json(record_of(expansion_path))


def check_one_source(records: Mapping[str, Mapping[str, Any]], made_of_it: Iterable[str | Path]) -> None:
    """Make sure that all chunks of a given expansion were read from one version of its file.

    Args:
        records: By path, records of chunks of the expansion, and of anything else.
        made_of_it: Folders of the expansion, and of what was made of it so far, for the message.

    Raises:
        DataError: The file was replaced between the jobs of two chunks.
    """
    digests = {path: record[EXPANSION_SOURCE] for path, record in records.items() if EXPANSION_SOURCE in record}
    for path, digest in digests.items():
        first, expected = next(iter(digests.items()))
        if digest != expected:
            problem = f"{path}: read from a file with the sha256 {digest}, but {first} from one with {expected}"
            reason = "the file that 'path' of the expansion names was replaced between the two jobs"
            folders = shlex.join(sorted(map(str, made_of_it)))
            raise DataError(f"{problem}; {reason}; delete what was made of both and run again: rm -r {folders}")


def check_same(records: Mapping[str, Mapping[str, Any]], what: Callable[[Mapping[str, Any]], Any], name: str, again: str) -> None:
    """Make sure that what was made of queries and of documents agrees in something.

    Args:
        records: The records, by path of what they are of.
        what: Gives it, from a record.
        name: What it is, for the message.
        again: What repairs it: ``encode`` or ``weigh``.

    Raises:
        DataError: It differs.
    """
    first, expected = next((path, what(record)) for path, record in records.items())
    for path, record in records.items():
        if (found := what(record)) != expected:
            todo = f"set one precision in the configuration, or remove one and {again} again: rm {Path(path).parent}/*"
            raise DataError(f"{path} has {name} {found}, but {first} has {expected}; {todo}")


def check_precision(records: Mapping[str, Mapping[str, Any]], again: str) -> None:
    """Make sure that queries and documents were made with one precision.

    Args:
        records: The records, by path of what they are of.
        again: What repairs it: ``encode`` or ``weigh``.

    Raises:
        DataError: They were not.
    """
    check_same(records, lambda record: record["made"]["precision"], "precision", again)


def check_rows(path: str, found: int, expected: int, again: str) -> None:
    """Make sure that something was made of each text.

    Args:
        path: The file.
        found: Texts that it is of.
        expected: Texts that there are.
        again: What repairs it: ``encode`` or ``weigh``.

    Raises:
        DataError: There are more or fewer.
    """
    if found != expected:
        raise DataError(f"{path}: found {found} texts, expected {expected}; {again} them again: rm {path}")
