"""Postings of one chunk."""

import time
from pathlib import Path

from beirflow.datasets.corpus_files import Documents, recorded_digest
from beirflow.expansions.files import ExpansionFile
from beirflow.files.digests import file_digest
from beirflow.files.layout import record_of
from beirflow.files.progress import Progress
from beirflow.files.records import Job, write_record
from beirflow.lexical.expanded import index_documents
from beirflow.lexical.index import Index
from beirflow.lexical.postings import made_with, write_postings


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
        made=made_with(index.analyzer),
        seconds={"index": time.perf_counter() - start},
        sizes={"index": Path(output_path).stat().st_size},
        analyzer=index.name,
        rows=len(postings.text_lengths),
    )
