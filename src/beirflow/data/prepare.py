"""Prepare a corpus: read it, sort it by length, deal it to chunks, and write it as Parquet, a row group a chunk.

Memory is bounded by one chunk plus a few numbers a document: texts wait on disk until their chunk is written.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.disks import written_here
from beirflow.core.errors import DataError
from beirflow.core.losses import MEANING, MISSING, OWN_ID, of_all
from beirflow.core.progress import Progress
from beirflow.core.records import Job, write_record
from beirflow.core.writing import DigestingWriter, atomic_path, own_partial
from beirflow.data.chunking import Scan, first_equal_texts, spill_path, taken, text_bytes, write_documents
from beirflow.data.corpus_files import (
    CANDIDATE_PAIRS,
    EXCLUDED_PAIRS,
    EXCLUDED_ROWS,
    OWN_CANDIDATES,
    RELEVANT_FROM,
    RELEVANT_PAIRS,
    PreparedCorpus,
    footer_digest,
    relevant_from,
)
from beirflow.data.corpus_reader import read_batches
from beirflow.data.judged_queries import read_judged_queries
from beirflow.data.sampling import drawn, judged_among, sampled_queries, whole_topics
from beirflow.data.self_matches import SelfMatches, check_self_matches
from beirflow.data.sources.forms import CANDIDATES, EXCLUDED, form_of
from beirflow.data.sources.hub_source import REVISION, HubSource
from beirflow.data.sources.opening import open_source
from beirflow.data.sources.source import CORPUS, DatasetSource, qrels_of
from beirflow.data.unreachable import counts_of, in_corpus, relevant_rows, spelled_otherwise, unreachable

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Preparation:
    """The settings that determine a prepared corpus."""

    forum: str | None  # folder of a forum inside the source, or None
    split: str  # name of the judgements
    chunks: int  # number of row groups to write
    # what the catalogue says: ``documents`` and ``queries``, counts or None, and ``files``, sha256 by path; with
    # ``excluded_pairs``, how many documents queries exclude in all, and ``relevant_pairs``, how many are relevant; where
    # the documents could not be counted beforehand, as ``most`` how many of them one chunk may have
    expected: Mapping[str, Any]
    form: Mapping[str, Any] | None = None  # fields of its form, ``kind`` among them; None for the form of BEIR
    part_of: str | None = None  # the dataset, where this is another split of it or a sample, and so not the official data
    relevant_from: int | None = None  # grade from which a document is relevant, for measures without grades; None for 1
    sample: Mapping[str, int] | None = None  # ``queries``, how many to take at most, and ``seed``, which; None for all
    # ``documents``, how many to take at most, and ``seed``, which; None for all. Judgements of other documents are left out, and
    # queries without any left
    document_sample: Mapping[str, int] | None = None


def prepare_corpus(
    *,
    source_path: str,
    settings: Preparation,
    corpus: PreparedCorpus,
    job: Job,
    self_matches: SelfMatches | None = None,
    topic_measure: str = "",
    threads: int = 2,
) -> None:
    """Turn a dataset, of one on a hub the record of what was fetched, into the files that every system works from.

    Documents have the columns of ``DOCUMENTS``, longest first in each chunk; judged queries, ``query_id`` and ``text``, are in
    byte order of their ids, judgements, ``query_id``, ``doc_id``, ``score``, in byte order of query and document; the record has
    counts and length statistics. Raises DataError if the dataset is not what it should be, or if nobody stated that relevant
    documents with the id of their query, but another text, are dropped, or if a sample has no topic for ``topic_measure``, a
    main measure that compares the queries of a topic; nothing has been written then.
    """
    split, expected = settings.split, settings.expected
    source = open_source(source_path, settings.forum, form_of(settings.form))
    queries, qrels = read_judged_queries(source, split)
    counts = {"queries": queries.num_rows, RELEVANT_PAIRS: pc.sum(pc.greater(qrels["score"], 0)).as_py()}
    with _scratch_folder(Path(corpus.documents_path)) as scratch:
        scan = _scan(source, spill_path(scratch), expected["documents"])
        _check_documents(source, scan, expected["documents"], expected.get("most"))
        topics = whole_topics(qrels)
        scan, queries, qrels, part = _part_of(settings, scan, queries, qrels, spill_path(scratch))
        _check_topics(topics, qrels, topic_measure)
        if settings.relevant_from:
            qrels = qrels.replace_schema_metadata({RELEVANT_FROM: str(settings.relevant_from)})
        excluded = _counts_of_lists(queries, scan.ids)
        differences = _differences(source, expected, counts, None if settings.sample else excluded)
        lost, policy = unreachable(qrels, queries, scan.ids), self_matches or SelfMatches()
        check_self_matches(source, source.where(qrels_of(split)), policy, bool(differences), qrels, queries, lost)
        # What the scan no longer needs is room for the chunks.
        pa.default_memory_pool().release_unused()
        with atomic_path(corpus.documents_path) as partial, DigestingWriter(partial) as stream:
            write_documents(stream, scratch, scan, settings.chunks, threads)
            digest = stream.digest()
    queries = _with_excluded_rows(queries, corpus.documents_path)
    for table, path in ((queries, corpus.queries_path), (qrels, corpus.qrels_path)):
        with atomic_path(path) as partial:
            pq.write_table(table, partial, compression="zstd")
    missing = qrels.filter(pc.invert(in_corpus(qrels["doc_id"], scan.ids)))
    for problem in _unreachable_documents(qrels, missing, lost, excluded, scan.ids, drop_self_matches=policy.drop):
        logger.warning("%s: %s", source.where(qrels_of(split)), problem)
    for difference in differences:
        logger.warning("this is not the official data, so no published score is comparable: %s", difference)
    # Without times: every system depends on this record, and would be rebuilt if a time changed.
    write_record(
        corpus.corpus_path,
        job,
        inputs={source_path: file_digest(source_path)} if isinstance(source, HubSource) else {},
        outputs={corpus.documents_path: digest, **{path: file_digest(path) for path in (corpus.queries_path, corpus.qrels_path)}},
        counts={
            "documents": len(scan.ids),
            "distinct_texts": int((scan.first_equal == np.arange(len(scan.ids))).sum()),
            "queries": queries.num_rows,
            "judgements": qrels.num_rows,
            "positives": pc.sum(pc.greater(qrels["score"], 0)).as_py(),
            "judgements_without_document": missing.num_rows,
            **counts_of(qrels, lost),
            "characters": int(scan.characters.sum()),
            **excluded,
        },
        split=split,
        chunks=settings.chunks,
        # None for a dataset outside the catalogue, whose official data are unknown.
        official=False if differences or settings.part_of else True if expected["files"] else None,
        **part,
        characters=length_statistics(scan.characters),
        source_sha256=source.digests,
        **_notes(source, settings),
        documents_footer_sha256=footer_digest(corpus.documents_path),
    )


def _notes(source: DatasetSource, settings: Preparation) -> dict[str, Any]:
    """Return the fields of the record that only some datasets have."""
    notes: dict[str, Any] = {"assumed": source.assumed} if source.assumed else {}
    notes |= {OWN_CANDIDATES: True} if source.own_candidates else {}
    return notes | ({RELEVANT_FROM: settings.relevant_from} if settings.relevant_from else {})


def _check_topics(topics: int, qrels: pa.Table, measure: str) -> None:
    """Refuse a sample without a whole topic if the main measure compares the queries of a topic."""
    if measure and topics and not whole_topics(qrels):
        problem = f"none of the {topics} topics is whole in this sample, so {measure}, the main measure, is not defined"
        raise DataError(f"{problem}; take more documents or queries, or set another main_measure")


@contextmanager
def _scratch_folder(output: Path) -> Iterator[Path]:
    """Give an empty folder on the output's disk, which is gone afterwards."""
    output.parent.mkdir(parents=True, exist_ok=True)
    folder = own_partial(output.parent / "prepare")
    folder.mkdir()
    try:
        with written_here(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _scan(source: DatasetSource, spill: Path, expected: int | None) -> Scan:
    """Read the corpus once; texts go to the spill file, what orders them stays."""
    parts = []
    title = f"prepare {source.where(CORPUS)}"
    with spill.open("wb") as stream, Progress(title, expected, "documents") as progress:
        for batch in read_batches(source):
            stream.write(text_bytes(batch.documents["text"]))
            # All ids together may be longer than the 2 GiB of a string array.
            ids = batch.documents["doc_id"].cast(pa.large_string())
            parts.append((ids, batch.characters, batch.sizes, batch.documents["title_bytes"].to_numpy(), batch.fingerprints))
            progress.advance(len(batch.lines))
    if not parts:
        raise DataError(f"{source.where(CORPUS)}: the corpus is empty; at least one document was expected")
    all_ids, *numbers = zip(*parts, strict=True)
    characters, sizes, title_bytes, fingerprints = (np.concatenate(columns) for columns in numbers)
    return Scan(pa.concat_arrays(all_ids), characters, sizes, title_bytes, first_equal_texts(fingerprints, sizes, spill))


def _check_documents(source: DatasetSource, scan: Scan, expected: int | None, most: int | None) -> None:
    """Refuse repeated ids, and another number of documents than the catalogue says, or more than one chunk may have."""
    where = source.where(CORPUS)
    if len(pc.unique(scan.ids)) < len(scan.ids):
        first_line: dict[str, int] = {}
        for batch in read_batches(source):
            for doc_id, line in zip(batch.documents["doc_id"].to_pylist(), batch.lines.tolist(), strict=True):
                if doc_id in first_line:
                    problem = f"the document id {doc_id!r} is already in line {first_line[doc_id]}"
                    raise DataError(f"{where}:{line}: {problem}; ids must be unique")
                first_line[doc_id] = line
    if most is not None and len(scan.ids) > most:
        problem = f"{len(scan.ids):,} documents, and a chunk has at most {most:,} (chunk_documents)"
        raise DataError(f"{where}: found {problem}; say 'documents: {len(scan.ids)}' for it under custom.datasets, and run again")
    if expected is not None and len(scan.ids) != expected:
        raise DataError(
            f"{where}: expected {expected:,} documents, found {len(scan.ids):,}; is this another version of the dataset,"
            " or a part of it? A dataset of your own goes under custom.datasets with a name of its own"
        )


def _part_of(
    settings: Preparation, scan: Scan, queries: pa.Table, qrels: pa.Table, spill: Path
) -> tuple[Scan, pa.Table, pa.Table, dict[str, Any]]:
    """Draw the requested samples; also return the fields of the record of a part of a dataset."""
    part: dict[str, Any] = {"part_of": settings.part_of} if settings.part_of else {}
    if documents := settings.document_sample:
        part["document_sample"] = {**documents, "of": len(scan.ids)}
        rows = drawn(scan.ids.to_pylist(), wanted=documents["documents"], seed=documents["seed"])
        scan = taken(scan, rows, spill)
        topics = whole_topics(qrels)
        queries, qrels = judged_among(queries, qrels, scan.ids)
        if lost := topics - whole_topics(qrels):
            problem = "lost a query, or all documents that the other query changes, and are left out of measures of topics"
            logger.warning("in the sample of documents, %d of %d topics %s", lost, topics, problem)
    if sample := settings.sample:
        part["sample"] = {**sample, "of": queries.num_rows}
        wanted, there = sample["queries"], queries.num_rows
        queries, qrels = sampled_queries(queries, qrels, wanted=wanted, seed=sample["seed"])
        if queries.num_rows < min(wanted, there):
            problem = "since the queries of a topic belong together, and topics do not add up to it"
            logger.warning("the sample has %d queries, not %d, %s", queries.num_rows, wanted, problem)
    return scan, queries, qrels, part


def _unreachable_documents(
    qrels: pa.Table,
    missing: pa.Table,
    lost: Mapping[str, np.ndarray],
    of_lists: Mapping[str, int],
    ids: pa.Array,
    *,
    drop_self_matches: bool,
) -> Iterator[str]:
    """Say which judged documents no system can find, and which candidates the corpus lacks."""
    if missing.num_rows:
        first, total = missing["doc_id"][0].as_py(), len(lost.get(MISSING, ()))
        relevant = f"{of_all(total, len(relevant_rows(qrels)))} relevant ones" if total else "none of them relevant"
        problem = (
            f"{of_all(missing.num_rows, qrels.num_rows)} judged documents are not in the corpus (first {first!r}), {relevant}"
        )
        yield "; ".join(filter(None, (problem, spelled_otherwise(first, ids))))
    for kind, rows in lost.items():
        if kind != MISSING and (kind != OWN_ID or drop_self_matches):
            first = qrels.slice(int(rows[0]), 1).to_pylist()[0]
            example = f"first {first['doc_id']!r} of the query {first['query_id']!r}"
            number = of_all(len(rows), len(relevant_rows(qrels)))
            yield f"{number} relevant documents are {MEANING[kind]} ({example}), so no system can find them"
    if not len(relevant_rows(qrels)):
        least, highest = relevant_from(qrels), pc.max(qrels["score"]).as_py()
        yield f"none of the {qrels.num_rows:,} judged documents is relevant: the highest grade is {highest}, expected {least}"
    if absent := of_lists.get("candidate_without_document"):
        yield f"{of_all(absent, of_lists[CANDIDATE_PAIRS])} candidates of queries are not in the corpus"


def _counts_of_lists(queries: pa.Table, ids: pa.Array) -> dict[str, int]:
    """Count documents that queries exclude, their candidates, and those that the corpus does not have; empty without any."""
    counts: dict[str, int] = {}
    for column, pairs in ((EXCLUDED, EXCLUDED_PAIRS), (CANDIDATES, CANDIDATE_PAIRS)):
        if column in queries.column_names:
            named = pc.list_flatten(queries[column])
            absent = len(named) - (pc.sum(in_corpus(named, ids)).as_py() or 0)
            counts |= {pairs: len(named), f"{pairs.partition('_')[0]}_without_document": absent}
    return counts


def _with_excluded_rows(queries: pa.Table, documents_path: str) -> pa.Table:
    """Add ``EXCLUDED_ROWS`` to the queries if any excludes documents."""
    if EXCLUDED not in queries.column_names:
        return queries
    with pq.ParquetFile(documents_path) as file:
        doc_ids = file.read(["doc_id"])["doc_id"].cast(pa.large_string()).combine_chunks()
    return queries.append_column(EXCLUDED_ROWS, excluded_rows_of(queries[EXCLUDED].combine_chunks(), doc_ids))


def excluded_rows_of(lists: pa.Array, doc_ids: pa.Array) -> pa.Array:
    """Return for each list of ids the rows of those that are in the corpus, ascending; lists of int32."""
    row = pc.fill_null(pc.index_in(lists.flatten().cast(doc_ids.type), value_set=doc_ids), -1).to_numpy().astype(np.int64)
    query = np.arange(len(lists)).repeat(lists.value_lengths().to_numpy())
    order = np.lexsort((row, query))
    order = order[row[order] >= 0]
    query, row = query[order], row[order]
    return pa.ListArray.from_arrays(np.searchsorted(query, np.arange(len(lists) + 1)).astype(np.int32), row.astype(np.int32))


def _differences(
    source: DatasetSource, expected: Mapping[str, Any], counts: Mapping[str, int], excluded: Mapping[str, int] | None
) -> list[str]:
    """Say how the data differ from those that the catalogue expects; DataError where it was assumed which version they are."""
    differences = [
        f"{source.where(name)}: sha256 {source.digests[name]}, expected {digest}"
        for name, digest in expected["files"].items()
        if source.digests.get(name, digest) != digest
    ]
    for key, what in (("queries", "judged queries"), (RELEVANT_PAIRS, "judgements above 0")):
        if expected.get(key) not in (None, counts[key]):
            differences.append(f"{counts[key]} {what}, expected {expected[key]}")
    if excluded is not None and (pairs := expected.get(EXCLUDED_PAIRS)) and excluded.get(EXCLUDED_PAIRS, 0) != pairs:
        differences.append(f"queries exclude {excluded.get(EXCLUDED_PAIRS, 0):,} documents, expected {pairs:,}")
    if differences and REVISION in source.assumed:
        todo = "name a commit under custom.datasets, with a name of your own"
        raise DataError(f"{source.assumed[REVISION]}, is another version: {'; '.join(differences)}; {todo}")
    return differences


def length_statistics(lengths: np.ndarray) -> dict[str, float]:
    """Return the smallest, the mean, some quantiles and the largest of n lengths, for a record."""
    quantiles = dict(zip(("median", "p90", "p99"), np.quantile(lengths, [0.5, 0.9, 0.99]).tolist(), strict=True))
    return {"min": int(lengths.min()), "mean": float(lengths.mean()), **quantiles, "max": int(lengths.max())}


def source_of(local_folder: str | None, source_paths: Sequence[str]) -> str:
    """Return the source that a rule reads: the folder of a local dataset, else the archive or the record of a hub's dataset."""
    return local_folder or source_paths[0]
