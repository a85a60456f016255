"""The steps of a lexical system: index each chunk, sum up the statistics of the corpus, search each chunk."""

import platform
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

from beirflow.datasets.corpus_files import Documents, read_table, recorded_digest
from beirflow.expansions.files import ExpansionFile
from beirflow.files.digests import file_digest
from beirflow.files.layout import EXPANSION, EXPANSION_RECORD, record_of
from beirflow.files.progress import Progress
from beirflow.files.records import Job, check_inputs, output_digest, read_json, write_record
from beirflow.files.verified import check_digest, checked_while_read
from beirflow.lexical.expanded import index_documents
from beirflow.lexical.postings import open_postings, write_postings
from beirflow.lexical.queries import analyze_queries, weigh
from beirflow.lexical.search import search_postings
from beirflow.lexical.settings import Index, LexicalSettings
from beirflow.lexical.statistics import CorpusStatistics, add_up, frequencies_of
from beirflow.postings.search import import_scipy
from beirflow.runs.candidates import Candidates, found_by, write_candidates
from beirflow.runs.ranking import byte_order
from beirflow.runs.searched import read_expansion, read_ids


def index_chunk(
    *,
    documents_path: str,
    chunk: int,
    index: Index,
    output_path: str,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Analyse the documents of one chunk and write their postings, which serve every system with this index.

    Args:
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk.
        index: The analyzer, and what is added to the documents.
        output_path: Postings to write, and their record.
        job: The job, for the record.
        expansion_path: What is added to the documents of the chunk, next to its record; None where nothing is.
        threads: Threads to compute with.

    Raises:
        DataError: The chunk, or what is added to it, was changed after it was written.
    """
    start = time.perf_counter()
    inputs = {documents_path: recorded_digest(documents_path)}
    added = None
    if expansion_path is not None:
        added = ExpansionFile(expansion_path, index.kind, documents_path, job)
        inputs |= added.inputs
    with Documents(documents_path) as documents, Progress(job.name, documents.sizes[chunk], "documents") as progress:
        postings = index_documents(documents, chunk, index, added, progress.advance, threads)
    write_postings(output_path, postings, index.name)
    write_record(
        record_of(output_path),
        job,
        inputs=inputs,
        outputs={output_path: file_digest(output_path)},
        made=_made_with(index.analyzer),
        seconds={"index": time.perf_counter() - start},
        sizes={"index": _size(output_path)},
        analyzer=index.name,
        rows=len(postings.text_lengths),
    )


def sum_statistics(*, postings_paths: Sequence[str], index: Index, output_path: str, job: Job) -> None:
    """Sum up the statistics of all chunks: in how many documents each term is, and how many terms the documents have.

    Args:
        postings_paths: The postings of chunk 0, 1, …, each with its record.
        index: What they are postings of.
        output_path: Parquet of the terms to write, and the record with the other counts.
        job: The job, for the record.

    Raises:
        DataError: Postings were damaged, or are not all of one corpus.
    """
    start = time.perf_counter()
    corpus: dict[str, str] = {}
    inputs: dict[str, str] = {}
    for path in postings_paths:
        record = read_json(record_of(path))
        # Not what is added to the documents: that is another file for each chunk.
        own = {name for name in record["inputs"] if EXPANSION.names_in(name) or EXPANSION_RECORD.names_in(name)}
        corpus = corpus or {name: digest for name, digest in record["inputs"].items() if name not in own}
        check_inputs(record_of(path), record, corpus, analyzer=index.name)
        check_digest(path, output_digest(record, path), record_of(path))
        inputs |= corpus | record["outputs"] | {job.below(record_of(path)): file_digest(record_of(path))}
    statistics = add_up(postings_paths, index.name, output_path)
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / name: digest for name, digest in inputs.items()},
        outputs={output_path: file_digest(output_path)},
        made=_made_with(index.analyzer),
        seconds={"index": time.perf_counter() - start},
        sizes={"index": _size(output_path)},
        counts={
            "documents_without_contents": statistics.without_contents,
            "documents_without_text": statistics.without_text,
        },
        analyzer=index.name,
        statistics=statistics.as_record(),
    )


def search_index(
    *,
    settings: LexicalSettings,
    queries_path: str,
    documents_path: str,
    chunk: int,
    postings_path: str,
    statistics_path: str,
    output_path: str,
    top_k: int,
    drop_self_matches: bool,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Args:
        settings: The system.
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        documents_path: ``documents.parquet``, likewise.
        chunk: Number of the chunk.
        postings_path: Its postings, with their record.
        statistics_path: The statistics of the corpus, likewise.
        output_path: ``.npz`` to write, as :func:`~beirflow.runs.candidates.write_candidates` does.
        top_k: Documents to keep for each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
        job: The job, for the record of the run.
        expansion_path: What was added to the documents of the chunk; only its record is read, for what it cost.
        threads: Threads to compute with.

    Raises:
        DataError: A file is not the one that was recorded, belongs to another corpus, or no document has a term at all.
    """
    corpus = job.digests({path: recorded_digest(path) for path in (documents_path, queries_path)})
    documents = {job.below(documents_path): corpus[job.below(documents_path)]}
    records = {path: read_json(record_of(path)) for path in (postings_path, statistics_path)}
    for path, record in records.items():
        check_inputs(record_of(path), record, documents, analyzer=settings.index.name)
    digests = {path: output_digest(record, path) for path, record in records.items()}
    if expansion_path is not None:
        records[expansion_path] = read_expansion(expansion_path, postings_path, records[postings_path], job)
    with checked_while_read(digests), ThreadPoolExecutor(max_workers=2) as background:
        background.submit(import_scipy)
        opening = background.submit(open_postings, postings_path, settings.index.name)
        ids = read_ids(queries_path, documents_path, chunk, drop_self_matches=drop_self_matches)
        start = time.perf_counter()
        ordering = background.submit(byte_order, ids.documents, settings.ties)
        analyzed = analyze_queries(read_table(queries_path)["text"])
        statistics = CorpusStatistics.of_record(records[statistics_path]["statistics"])
        frequencies = {field: frequencies_of(statistics_path, analyzed.terms, field) for field in settings.searched}
        fields = weigh(analyzed, settings, statistics, frequencies)
        hits, self_matches = search_postings(
            *(analyzed, fields, opening.result(), ordering.result(), top_k), excluded=ids.own, threads=threads
        )
        seconds = time.perf_counter() - start
    found = found_by(
        job,
        system=settings.name,
        chunk=chunk,
        top_k=top_k,
        searched=records,
        read=corpus,
        seconds=seconds,
        ties=settings.ties,
    )
    write_candidates(output_path, Candidates(*hits, self_matches), found)


def _made_with(analyzer: str) -> dict[str, str]:
    """What analysed, for the record."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__}
    return {"analyzer": analyzer, "device": platform.processor() or platform.machine(), **versions}


def _size(path: str) -> int:
    return Path(path).stat().st_size
