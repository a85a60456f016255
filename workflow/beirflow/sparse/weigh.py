"""Term weights of the queries and of each chunk of documents."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from beirflow.computing.made import made_with
from beirflow.computing.model_settings import Computing, checked_meanwhile
from beirflow.datasets.corpus_files import sources_of
from beirflow.expansions.files import ExpansionFile
from beirflow.expansions.settings import WrittenQueries
from beirflow.files.errors import ModelError
from beirflow.files.records import Job
from beirflow.files.writing import DigestingWriter
from beirflow.runs.represent import Texts, document_texts, query_texts, represent
from beirflow.sparse.expanded import different_texts, with_added
from beirflow.sparse.files import SegmentWriter, write_queries
from beirflow.sparse.layouts import read_parts
from beirflow.sparse.model_folders import Folders, check_models, model_folders
from beirflow.sparse.parts import Part
from beirflow.sparse.rows import Rows, in_rows, quantized
from beirflow.sparse.settings import INJECT, SparseSettings
from beirflow.sparse.weigher import NotFiniteError, Weigher

Weighing: TypeAlias = Computing[SparseSettings]
"""Settings of a job that weighs terms."""


def weigh_queries(*, queries_path: str, output_path: str, weighing: Weighing, job: Job) -> None:
    """Weigh the terms of the queries of a dataset.

    Args:
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        output_path: Weights to write, and their record.
        weighing: The models, and how they compute.
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

    _weigh(query_texts(queries_path), output_path, weighing, job, write)


def weigh_chunk(
    *, documents_path: str, chunk: int, output_path: str, weighing: Weighing, job: Job, expansion_path: str | None = None
) -> None:
    """Weigh the terms of the documents of one chunk, like :func:`weigh_queries`; weights are written while the next are computed.

    Args:
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk.
        output_path: Postings to write, and their record.
        weighing: The models, and how they compute.
        job: The job, for the record.
        expansion_path: What is added to the documents of the chunk, next to its record; None where nothing is.
    """

    def write(stream: DigestingWriter, windows: Iterator[Rows]) -> int:
        with SegmentWriter(stream, weighing.settings.quantize) as writer:
            for rows in windows:
                writer.add(rows)
        return writer.postings

    texts, added = document_texts(documents_path, chunk), None
    if expansion_path is not None:
        added = ExpansionFile(expansion_path, WrittenQueries.kind, documents_path, job)
        texts = replace(texts, table=with_added(texts.table, added, chunk))
    _weigh(texts, output_path, weighing, job, write, added)


def _weigh(
    texts: Texts,
    output_path: str,
    weighing: Weighing,
    job: Job,
    write: Callable[[DigestingWriter, Iterator[Rows]], int],
    added: ExpansionFile | None = None,
) -> None:
    """Weigh the terms of texts, and record how."""
    weighing.use_threads()
    settings = weighing.settings

    def compute(weigher: Weigher, stream: DigestingWriter) -> dict[str, Any]:
        different = different_texts(texts.table)
        windows = in_rows(weigher.windows(different.texts, texts.kind, different.added), different.indices)
        try:
            terms = write(stream, (quantized(rows, settings.quantize) for rows in windows))
        except NotFiniteError as error:
            message = f"the weights of {texts.name_of(error.row, different.indices)} hold infinity or not-a-number"
            raise ModelError(f"system {settings.name}: {message}; use precision float32, or look at its text") from error
        return {
            "made": {"precision": str(weigher.dtype).removeprefix("torch."), **made_with(weigher.device)},
            "counts": {**weigher.counts(texts.kind), f"terms_of_{texts.kind}": terms},
            "distinct_texts": len(different.texts),
            "weighed": {**weigher.described(), **_joined(added), "quantize": settings.quantize},
        }

    represent(
        texts,
        output_path,
        job,
        system=settings.name,
        inputs=sources_of(job, texts.source_path, weighing.model_path) | job.digests(added.inputs if added else {}),
        gpu=weighing.gpu(saves_memory="lower token_budget or max_length"),
        load=partial(load_weigher, weighing, texts.kind),
        compute=compute,
    )


def _joined(added: ExpansionFile | None) -> dict[str, str]:
    """Return the additions to documents, and their origin, for the record; nothing without any."""
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
        problem = f"the queries' model in {queries.part.folder} has another vocabulary than the documents' in {documents.folder}"
        raise ModelError(f"system {name}: {problem}, first at {differs[0]!r}; they must have the same terms")
