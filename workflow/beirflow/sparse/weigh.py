"""Term weights of the queries and of each chunk of documents."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.computing.made import made_with
from beirflow.computing.model_settings import Computing, checked_meanwhile
from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.datasets.document_text import as_read
from beirflow.expansions.files import ExpansionFile
from beirflow.expansions.settings import WrittenQueries
from beirflow.files.errors import ModelError
from beirflow.files.layout import record_of
from beirflow.files.records import Job, write_record
from beirflow.files.writing import DigestingWriter, atomic_path
from beirflow.runs.searched import sources_of
from beirflow.sparse.expanded import different_texts, with_added
from beirflow.sparse.files import SegmentWriter, write_queries
from beirflow.sparse.layouts import read_parts
from beirflow.sparse.model_folders import Folders, check_models, model_folders
from beirflow.sparse.parts import Part
from beirflow.sparse.rows import Rows, in_rows, quantized
from beirflow.sparse.settings import INJECT, SparseSettings
from beirflow.sparse.weigher import NotFiniteError, Weigher

Weighing: TypeAlias = Computing[SparseSettings]
"""How terms are weighed."""


def weigh_queries(*, queries_path: str, output_path: str, weighing: Weighing, job: Job) -> None:
    """Weigh the terms of the queries of a dataset.

    Args:
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        output_path: Weights to write, and their record.
        weighing: How.
        job: The job, for the record.

    Raises:
        ModelError: The model cannot be loaded, or computes a weight that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A file is not the one that was recorded.
    """

    def write(stream: DigestingWriter, windows: Iterator[Rows]) -> int:
        rows = Rows.together(list(windows))
        write_queries(stream, rows, weighing.settings.quantize)
        return len(rows.terms)

    _weigh(read_table(queries_path), queries_path, "queries", output_path, weighing, job, write)


def weigh_chunk(
    *, documents_path: str, chunk: int, output_path: str, weighing: Weighing, job: Job, expansion_path: str | None = None
) -> None:
    """Weigh the terms of the documents of one chunk; weights are written while the next are computed.

    Args:
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk.
        output_path: Postings to write, and their record.
        weighing: How.
        job: The job, for the record.
        expansion_path: What is added to the documents of the chunk, next to its record; None where nothing is.

    Raises:
        ModelError: The model cannot be loaded, or computes a weight that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A file is not the one that was recorded.
    """

    def write(stream: DigestingWriter, windows: Iterator[Rows]) -> int:
        with SegmentWriter(stream, weighing.settings.quantize) as writer:
            for rows in windows:
                writer.add(rows)
        return writer.postings

    with Documents(documents_path) as documents:
        table = as_read(documents.read([chunk], ["doc_id", "text"]))
    added = None
    if expansion_path is not None:
        added = ExpansionFile(expansion_path, WrittenQueries.kind, documents_path, job)
        table = with_added(table, added, chunk)
    _weigh(table, documents_path, "documents", output_path, weighing, job, write, added)


def _weigh(
    table: pa.Table,
    source_path: str,
    kind: str,
    output_path: str,
    weighing: Weighing,
    job: Job,
    write: Callable[[DigestingWriter, Iterator[Rows]], int],
    added: ExpansionFile | None = None,
) -> None:
    """Weigh the texts of a table that comes from ``source_path``, and record how."""
    weighing.use_threads()
    settings, stage = weighing.settings, "queries" if kind == "queries" else "index"
    inputs = sources_of(job, source_path, weighing.model_path) | job.digests(added.inputs if added else {})
    start = time.perf_counter()
    gpu = weighing.gpu(saves_memory="lower token_budget or max_length")
    with gpu, atomic_path(output_path) as partial, DigestingWriter(partial) as stream:
        weigher = load_weigher(weighing, kind)
        loaded = time.perf_counter()
        texts = different_texts(table)
        windows = in_rows(weigher.windows(texts.texts, kind, texts.added), texts.indices)
        try:
            terms = write(stream, (quantized(rows, settings.quantize) for rows in windows))
        except NotFiniteError as error:
            name = f"{table.column_names[0]} {table[0][int(np.argmax(texts.indices == error.row))].as_py()!r}"
            todo = "use precision float32, or look at its text"
            raise ModelError(f"system {settings.name}: the weights of {name} hold infinity or not-a-number; {todo}") from error
        digest = stream.digest()
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / name: digest for name, digest in inputs.items()},
        outputs={output_path: digest},
        made={"precision": str(weigher.dtype).removeprefix("torch."), **made_with(weigher.device)},
        seconds={"load": loaded - start, stage: time.perf_counter() - loaded},
        sizes={stage: Path(output_path).stat().st_size},
        counts={**weigher.counts(kind), f"terms_of_{kind}": terms},
        system=settings.name,
        rows=table.num_rows,
        distinct_texts=len(texts.texts),
        weighed={**weigher.described(), **_joined(added), "quantize": settings.quantize},
    )


def _joined(added: ExpansionFile | None) -> dict[str, str]:
    """What was added to documents, and how, for the record; nothing where nothing was."""
    return {"added": added.record["expansion"], "join": INJECT} if added else {}


def load_weigher(weighing: Weighing, kind: str) -> Weigher:
    """Load what weighs a kind of text, while the digests of its files are compared.

    Args:
        weighing: How terms are weighed.
        kind: ``queries`` or ``documents``.

    Returns:
        It.

    Raises:
        ModelError: The model cannot be loaded, or queries and documents have different vocabularies.
    """
    settings = weighing.settings
    folders = model_folders(settings)
    parts = read_parts(settings, *folders)
    with checked_meanwhile(partial(check_models, folders, parts, weighing.model_path)):
        weigher = Weigher(settings.name, parts.of(kind), **weighing.on)
    if kind == "queries":
        _check_vocabulary(settings.name, weigher, folders, parts.documents)
    return weigher


def _check_vocabulary(name: str, queries: Weigher, folders: Folders, documents: Part) -> None:
    """Queries and documents have the same terms, each with the same number."""
    if queries.part.folder == documents.folder:
        return
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(documents.folder, trust_remote_code=False, local_files_only=True).get_vocab()
    ours = queries.tokenizer.get_vocab()
    if ours != theirs:
        differs = next(iter(sorted(ours.items() ^ theirs.items())))
        found = f"the queries' model in {queries.part.folder} has another vocabulary than the documents' in {documents.folder}"
        raise ModelError(f"system {name}: {found}, first at {differs[0]!r}; they must have the same terms")
