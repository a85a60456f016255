"""Ids of queries and documents, their own candidates, and checked records of representations, for the search of a chunk."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.artifact import Artifact
from beirflow.core.errors import DataError
from beirflow.data.corpus_files import EXCLUDED_ROWS, CorpusFile, Documents, Queries
from beirflow.data.own_candidates import candidates_in, own_candidates
from beirflow.data.sources.forms import CANDIDATES, EXCLUDED
from beirflow.ranking.ranking import Cut, Hits, Ties, byte_order

MOST_EXCLUDED = 1 << 27  # queries times the most documents that are left out for one of them: a GiB

MOST_ID_BYTES = (1 << 31) - 1  # of an array of Arrow's strings, whose offsets are int32

EXPANSION_SOURCE = "expansion_source_sha256"
"""Key in the record of a chunk of a given expansion: the digest of the file that it was read from."""

SELF_MATCHES = "self_matches"
"""Key in the record of a run: by query, the score of the document with its id, which was dropped; only there if there is one.

Evaluators that cut a run first and drop it then need it.
"""


class Ids(NamedTuple):
    """The ids of the queries of a dataset and of the documents of one chunk, in the order of their tables."""

    queries: pa.Array
    documents: pa.Array
    # For each query rows of the documents that are dropped: that of its own id, and those that it excludes; -1 for none.
    excluded: np.ndarray  # int64 of shape (queries, most of a query)
    # Candidates that a dataset states: numbers of queries, ascending, and rows of documents, int64.
    pairs: tuple[np.ndarray, np.ndarray] | None = None

    def cut(self, k: int, ties: Ties = "descending") -> Cut:
        """Return the rule by which the first k documents of each query are kept."""
        return Cut(k, byte_order(self.documents, ties), self.excluded)

    @property
    def self_matches(self) -> int:
        """Number of documents that are dropped."""
        return int((self.excluded >= 0).sum())

    def dropped(self, hits: Hits) -> dict[str, Any]:
        """Return what a record says of excluded documents with a score: their number, and the scores of self matches."""
        query, row, score = hits
        own = places_of(self.queries, self.documents)[query] == row
        scores = dict(zip(self.queries.take(pa.array(query[own])).to_pylist(), score[own].tolist(), strict=True))
        return {"counts": {"self_matches_dropped": len(query)}} | ({SELF_MATCHES: scores} if scores else {})


def read_every_id(documents_path: str) -> tuple[pa.Array, list[int]]:
    """Read the ids of all documents of a corpus, chunk after chunk, and the number of documents of each chunk.

    Raises DataError if they are more than an array of Arrow can hold.
    """
    with Documents(documents_path) as file:
        doc_ids, sizes = file.read(range(len(file.sizes)), ["doc_id"])["doc_id"], file.sizes
    length = pc.sum(pc.binary_length(doc_ids).cast(pa.int64())).as_py() or 0
    if length > MOST_ID_BYTES:
        raise DataError(
            f"{documents_path}: the ids of its {len(doc_ids):,} documents have {length:,} bytes, more than the {MOST_ID_BYTES:,} "
            "that can be looked up at once; imported runs, given expansions, approximate indexes and latencies need all of them, "
            "so use other systems, or shorter ids"
        )
    return doc_ids.combine_chunks(), sizes


class Retrieval(NamedTuple):
    """The number of documents that a search keeps, whatever the family."""

    top_k: int
    drop_self_matches: bool  # drop a document whose id is the query's id, before the cut


def read_ids(queries: Queries, documents: Documents, chunk: int, *, drop_self_matches: bool, with_candidates: bool = True) -> Ids:
    """Read the ids of the queries and of the documents of one chunk, and what is dropped, as :func:`excluded_rows` returns it.

    With ``with_candidates=False``, documents that are no candidates of a query are not among what is dropped.
    """
    table = queries.read(["query_id", EXCLUDED_ROWS, *([CANDIDATES] if with_candidates else [])])
    _check_rows(pq.ParquetFile(queries.path).schema_arrow.names)
    doc_ids, first = documents.read([chunk], ["doc_id"])["doc_id"].combine_chunks(), sum(documents.sizes[:chunk])
    excluded = excluded_rows(table, doc_ids, drop_self_matches=drop_self_matches, first=first)
    return Ids(table["query_id"].combine_chunks(), doc_ids, excluded)


def read_ids_to_rank(queries: Queries, documents: Documents, chunk: int, retrieval: Retrieval) -> tuple[Ids, list[CorpusFile]]:
    """Read the same for a family that scores only the candidates of each query where a dataset states them, and their file.

    Raises DataError if a query has more than are kept.
    """
    candidates, path = own_candidates(queries.path)
    ids = read_ids(queries, documents, chunk, drop_self_matches=retrieval.drop_self_matches, with_candidates=False)
    if candidates is None:
        return ids, []
    return ids._replace(pairs=rows_of_pairs(candidates, ids, retrieval.top_k)), [CorpusFile(path)]


def excluded_rows(queries: pa.Table, documents: pa.Array, *, drop_self_matches: bool, first: int = 0) -> np.ndarray:
    """Return for each query the rows of the documents that are left out of its ranking, before the cut at k.

    They are those that the table of ``queries.parquet`` excludes or that are not among the candidates that it states and, with
    ``drop_self_matches``, the document with the id of the query: each row once, and -1 for none; int64 of shape (queries, most of
    a query, but at least 1). ``first`` is the row in ``documents.parquet`` of the first of these documents. Raises DataError if
    there are so many that the array would not fit into memory.
    """
    _check_rows(queries.column_names)
    ids = queries["query_id"].combine_chunks()
    # Left out before the cut at k: behind it, a query would have a document less than the others.
    own = places_of(ids, documents) if drop_self_matches else np.full(len(ids), -1)
    parts = [(np.arange(len(ids)), own)]
    if EXCLUDED_ROWS in queries.column_names:
        lists = queries[EXCLUDED_ROWS].combine_chunks()
        row = lists.flatten().to_numpy().astype(np.int64) - first
        parts.append((np.arange(len(ids)).repeat(lists.value_lengths().to_numpy()), row))
    candidates = candidates_in(queries)
    if candidates is not None:
        _check_width(len(ids), len(documents))
        query = pc.index_in(candidates["query_id"], value_set=ids).to_numpy().astype(np.int64)
        row = pc.fill_null(pc.index_in(candidates["doc_id"].combine_chunks(), value_set=documents), -1).to_numpy()
        is_candidate = np.zeros((len(ids), len(documents)), bool)
        is_candidate[query[row >= 0], row[row >= 0]] = True
        asking, other = np.nonzero(~is_candidate)
        parts.append((asking, other))
    if len(parts) == 1:
        return own[:, None]
    query, row = _first_of_each(*map(np.concatenate, zip(*(_inside(*part, len(documents)) for part in parts), strict=True)))
    counts = np.bincount(query, minlength=len(ids))
    width = max(1, int(counts.max(initial=0)))
    _check_width(len(ids), width)
    excluded = np.full((len(ids), width), -1)
    excluded[np.arange(width) < counts[:, None]] = row
    return excluded


def _inside(query: np.ndarray, row: np.ndarray, documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs whose row is that of one of some documents."""
    inside = (row >= 0) & (row < documents)
    return (query, row) if inside.all() else (query[inside], row[inside])


def _first_of_each(query: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return different pairs of a query and a row, ascending."""

    def ascend() -> np.ndarray:
        """Test whether each pair follows the one before it."""
        return (query[1:] > query[:-1]) | ((query[1:] == query[:-1]) & (row[1:] > row[:-1]))

    if not ascend().all():  # those of one part do
        order = np.lexsort((row, query))
        query, row = query[order], row[order]
        different = np.append(True, ascend())
        query, row = query[different], row[different]
    return query, row


def _check_rows(columns: Sequence[str]) -> None:
    """Raise DataError for queries whose excluded documents no search would read, since an earlier version prepared them."""
    if EXCLUDED in columns and EXCLUDED_ROWS not in columns:
        raise DataError(
            f"prepared queries have {EXCLUDED} but no {EXCLUDED_ROWS}, as of an earlier version; delete them, and run again"
        )


def _check_width(queries: int, width: int) -> None:
    if queries * width > MOST_EXCLUDED:
        problem = f"{queries:,} queries for one of which {width:,} documents of a chunk may be left out"
        raise DataError(f"found {problem}, more than {MOST_EXCLUDED:,} together; set a smaller chunk_documents")


def rows_of_pairs(candidates: pa.Table, ids: Ids, top_k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the candidates of each query in a chunk: numbers of queries, ascending, and rows, int64.

    All ``query_id`` and ``doc_id`` of the candidates are ranked, but for those that are excluded; raises DataError if a query has
    more than ``top_k``.
    """
    most = pc.max(candidates.group_by("query_id").aggregate([("doc_id", "count")])["doc_id_count"]).as_py()
    if most > top_k:
        raise DataError(f"a query has {most} candidates, all of which are ranked; set 'top_k: {most}' or more")
    query = pc.index_in(candidates["query_id"], value_set=ids.queries).to_numpy()
    row = pc.fill_null(pc.index_in(candidates["doc_id"], value_set=ids.documents), -1).to_numpy()
    order = np.argsort(query, kind="stable")
    order = order[row[order] >= 0]
    asking, place = np.nonzero(ids.excluded >= 0)
    numbers = query[order].astype(np.int64) * len(ids.documents) + row[order]
    order = order[~np.isin(numbers, asking * len(ids.documents) + ids.excluded[asking, place])]
    return query[order].astype(np.int64), row[order].astype(np.int64)


def places_of(strings: pa.Array, among: pa.Array) -> np.ndarray:
    """Return the positions of some distinct strings among many others, or -1, int64 of shape (strings,)."""
    # Looking up the many in the few is much faster.
    numbers = pc.index_in(among, value_set=strings)
    known = pc.indices_nonzero(pc.is_valid(numbers))
    places = np.full(len(strings), -1, np.int64)
    places[numbers.take(known).to_numpy()] = known.to_numpy()
    return places


def check_one_source(records: Mapping[str, Mapping[str, Any]], made_of_it: Iterable[str | Path]) -> None:
    """Check that all chunks of a given expansion were read from one version of its file, else DataError.

    ``records`` may be of anything else too; ``made_of_it`` are the folders of the expansion and of what was made of it, for the
    message.
    """
    digests = {path: record[EXPANSION_SOURCE] for path, record in records.items() if EXPANSION_SOURCE in record}
    for path, digest in digests.items():
        first, expected = next(iter(digests.items()))
        if digest != expected:
            problem = f"{path}: read from a file with the sha256 {digest}, but {first} from one with {expected}"
            reason = "the file that 'path' of the expansion names was replaced between the two jobs"
            folders = shlex.join(sorted(map(str, made_of_it)))
            raise DataError(f"{problem}; {reason}; delete what was made of both and run again: rm -r {folders}")


def check_same(files: Iterable[Artifact], what: Callable[[Mapping[str, Any]], Any], name: str, again: str) -> None:
    """Check that what was made of queries and of documents agrees in what a function returns for each record, else DataError.

    ``name`` is its name in the message, and ``again`` the step that repairs it, ``encode`` or ``weigh``.
    """
    first, *others = [(each.path, what(each.record)) for each in files]
    for path, value in others:
        if value != first[1]:
            todo = f"set one precision in the configuration, or remove one and {again} again: rm {path.parent}/*"
            raise DataError(f"{path} has {name} {value}, but {first[0]} has {first[1]}; {todo}")


def check_precision(files: Iterable[Artifact], again: str) -> None:
    """Check that queries and documents have the same precision; ``again``, ``encode`` or ``weigh``, repairs it."""
    check_same(files, lambda record: record["made"]["precision"], "precision", again)


def check_rows(path: str, rows: int, expected: int, again: str) -> None:
    """Check that a file has the expected number of texts; ``again``, ``encode`` or ``weigh``, repairs it."""
    if rows != expected:
        raise DataError(f"{path}: found {rows} texts, expected {expected}; {again} them again: rm {path}")
