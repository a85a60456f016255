"""The candidates of a chunk on disk: its hits, and in their record the facts that the merge needs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.digests import file_digest
from beirflow.core.layout import CANDIDATES, record_of
from beirflow.core.records import Job, output_digest, write_record
from beirflow.core.verified import reading
from beirflow.core.writing import DigestingWriter, atomic_path
from beirflow.ranking.ranking import Hits
from beirflow.ranking.searched import EXPANSION_SOURCE

OF_A_SOURCE = ("made", "seconds", "bytes", "counts", "job", EXPANSION_SOURCE)
"""Keys of each record behind a run that the merge needs.

The record of candidates has them under ``SOURCES``, by path: representations may be deleted, and records made anew, before the
merge. What several chunks share counts once.
"""

COLUMNS = pa.schema([("query", pa.int32()), ("row", pa.int32()), ("score", pa.float32())])


class Candidates(Artifact):
    """The top k of one chunk for every query: hits, sorted by query, score and the order of ids at the cut."""

    pattern = CANDIDATES
    large = True

    @property
    def named(self) -> dict[str, str]:
        """Nothing: candidates are deleted once they are merged, and what they were made from is named in their place."""
        return {}

    def read(self) -> Hits:
        """Read number of the query, int32, row of the document in the chunk, int32, and score, float32, each of shape (n,)."""
        with reading(self.path, "the candidates"), pa.memory_map(str(self.path)) as source:
            columns = pa.ipc.open_file(source).read_all().combine_chunks()
            query, row, score = (columns[name].to_numpy() for name in COLUMNS.names)
            return query, row, score

    @staticmethod
    def write(stream: Stream, data: Hits) -> None:
        """Write hits."""
        with pa.ipc.new_file(stream, COLUMNS) as writer:
            writer.write_table(pa.table(list(data), schema=COLUMNS))


def sources_of(searched: Iterable[Artifact]) -> dict[str, dict[str, Any]]:
    """Return what the record of candidates says of the files that were searched."""
    return {each.record["path"]: _of_a_source(each.record) for each in searched}


def _of_a_source(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in OF_A_SOURCE if key in record}


def searched_inputs(
    job: Job,
    searched: Mapping[str, Mapping[str, Any]],
    read: Mapping[str, str] | None = None,
    models: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the digests of the inputs of a search by path below the results, and its ``SOURCES``.

    ``searched`` are the files that were searched, each with the content of its record, ``read`` the sha256 of other inputs, by
    path below the results, and ``models`` the records of models that were made for this, by their paths.
    """
    inputs, sources = dict(read or {}), {}
    for path, record in searched.items():
        name = job.below(record_of(path))
        # With the inputs of the record, so that the run still names them when what was searched has been deleted.
        inputs |= record["inputs"] | {job.below(path): output_digest(record, path), name: file_digest(record_of(path))}
        sources[name] = _of_a_source(record)
    for path, record in (models or {}).items():
        inputs[job.below(path)] = file_digest(path)
        sources[job.below(path)] = _of_a_source(record)
    return inputs, sources


def write_candidates(path: str | Path, hits: Hits, job: Job, *, inputs: Mapping[str, str], **facts: Any) -> None:
    """Write candidates and their record; ``inputs`` by path below the results."""
    with atomic_path(path) as partial, DigestingWriter(partial) as stream:
        Candidates.write(stream, hits)
        digest = stream.digest()
    named = {job.results / name: of for name, of in inputs.items()}
    write_record(record_of(path), job, inputs=named, outputs={path: digest}, **facts)
