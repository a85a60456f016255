"""The candidates of a chunk on disk: its hits, and in their record the facts that the merge needs."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from beirflow.core.artifact import TAKEN, Artifact, Stream
from beirflow.core.layout import CANDIDATES
from beirflow.core.verified import reading
from beirflow.ranking.ranking import Hits
from beirflow.ranking.searched import EXPANSION_SOURCE

OF_A_SOURCE = ("made", "seconds", "bytes", "counts", "job", EXPANSION_SOURCE, TAKEN)
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
        """None: candidates are deleted after the merge, and records name their sources instead."""
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
    """Return the searched files by the record of candidates."""
    return {each.record["path"]: {key: each.record[key] for key in OF_A_SOURCE if key in each.record} for each in searched}
