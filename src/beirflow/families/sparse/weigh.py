"""Term weights of the queries and of each chunk of documents."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.core.errors import ModelError
from beirflow.core.records import Job
from beirflow.core.writing import DigestingWriter
from beirflow.data.corpus_files import sources_of
from beirflow.families.expansions.files import ExpansionFile, checked_expansion
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.families.represent import Texts, document_texts, query_texts, represent
from beirflow.families.sparse.files import Rows, SegmentWriter, in_rows, quantized, write_queries
from beirflow.families.sparse.layouts import Part, read_parts
from beirflow.families.sparse.settings import INJECT, SparseSettings
from beirflow.families.sparse.weigher import Weigher
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.folder_tokenizer import tokenizer_of
from beirflow.models.computing.loading import loading_from
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model

ADDED = "added"  # the column of what is added to documents
BATCH_DOCUMENTS = 4096  # documents whose expansion is read at once
Weighing: TypeAlias = Computing[SparseSettings]  # settings of a job that weighs terms


class DistinctTexts(NamedTuple):
    """The different texts of some rows, in the order of their first row."""

    texts: Sequence[str]  # the texts
    added: Sequence[str] | None  # the addition to each; a text with another addition is another text. None without additions.
    indices: np.ndarray  # number of each row's text, integers of shape (rows,)


def with_added(table: pa.Table, added: ExpansionFile, chunk: int) -> pa.Table:
    """Append the queries that are added to each document, as one text, in the column :data:`ADDED`.

    Raises DataError if the expansion is damaged, or of another number of documents.
    """
    added.check_rows(WrittenQueries.kind, chunk, table.num_rows)
    return table.append_column(ADDED, pa.chunked_array(list(added.joined(BATCH_DOCUMENTS)), pa.large_string()).combine_chunks())


def different_texts(table: pa.Table) -> DistinctTexts:
    """Find the rows of a table with a column ``text``, and perhaps :data:`ADDED`, that are weighed alike."""
    columns = [table[name].to_pylist() for name in ("text", ADDED) if name in table.column_names]
    numbers: dict[tuple[str, ...], int] = {}
    indices = np.array([numbers.setdefault(each, len(numbers)) for each in zip(*columns, strict=True)], np.int64)
    texts, *added = ([each[place] for each in numbers] for place in range(len(columns)))
    return DistinctTexts(texts, added[0] if added else None, indices)


def weigh_queries(*, queries_path: str, output_path: str, weighing: Weighing, job: Job) -> None:
    """Weigh the terms of the queries of a dataset.

    Raises ModelError if the model cannot be loaded, or computes a weight that is not finite; DeviceError if the GPU fails or has
    too little memory; DataError if a file is not the one that was recorded.
    """

    def write(stream: DigestingWriter, windows: Iterator[Rows]) -> int:
        rows = Rows.together(list(windows))  # queries fit into memory
        write_queries(stream, rows, weighing.settings.quantize)
        return len(rows.terms)

    _weigh(query_texts(queries_path), output_path, weighing, job, write)


def weigh_chunk(
    *, documents_path: str, chunk: int, output_path: str, weighing: Weighing, job: Job, expansion_path: str | None = None
) -> None:
    """Weigh the terms of the documents of one chunk, like :func:`weigh_queries`; write weights while the next are computed."""

    def write(stream: DigestingWriter, windows: Iterator[Rows]) -> int:
        with SegmentWriter(stream, weighing.settings.quantize) as writer:
            for rows in windows:
                writer.add(rows)
        return writer.postings

    texts, added = document_texts(documents_path, chunk), None
    if expansion_path is not None:
        added = checked_expansion(expansion_path, WrittenQueries.kind, documents_path, job)
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
    joined = {"added": added.record["expansion"], "join": INJECT} if added else {}

    def compute(weigher: Weigher, stream: DigestingWriter) -> dict[str, Any]:
        different = different_texts(texts.table)
        windows = in_rows(weigher.windows(different.texts, texts.kind, different.added), different.indices)
        try:
            terms = write(stream, (quantized(rows, settings.quantize) for rows in windows))
        except NotFiniteError as error:
            message = f"the weights of {texts.name_of(error.row, different.indices)} hold infinity or not-a-number"
            raise ModelError(f"system {settings.name}: {message}; use precision float32, or look at its text") from error
        return {
            "made": weigher.made(),
            "computation": weigher.computation(),
            "counts": {**weigher.counts(texts.kind), f"terms_of_{texts.kind}": terms},
            "distinct_texts": len(different.texts),
            "weighed": {**weigher.described(), **joined, "quantize": settings.quantize},
        }

    represent(
        texts,
        output_path,
        job,
        system=settings.name,
        inputs=sources_of(job, texts.source_path, weighing.model_path) | (added.named if added else {}),
        gpu=weighing.gpu(saves_memory="lower token_budget or max_length"),
        load=partial(load_weigher, weighing, texts.kind),
        compute=compute,
    )


def load_weigher(weighing: Weighing, kind: str) -> Weigher:
    """Load the weigher of a kind of text, while the digests of its files are compared.

    Raises ModelError if the model cannot be loaded, or queries and documents have different vocabularies.
    """
    settings = weighing.settings
    parts = read_parts(settings)
    with checked_meanwhile(partial(check_model, settings, weighing.model_path)):
        weigher = Weigher(settings.name, parts.of(kind), **weighing.on)
    if kind == "queries":
        _check_vocabulary(settings.name, weigher, parts.documents)
    return weigher


def _check_vocabulary(name: str, queries: Weigher, documents: Part) -> None:
    """Refuse queries and documents whose terms differ, or have different numbers."""
    if queries.part.folder == documents.folder:
        return
    with loading_from(documents.folder):
        other = tokenizer_of(documents.folder)
    ours, theirs = queries.tokenizer.get_vocab(), other.get_vocab()
    if ours != theirs:
        differs = next(iter(sorted(ours.items() ^ theirs.items())))
        problem = f"the queries' model in {queries.part.folder} has another vocabulary than the documents' in {documents.folder}"
        raise ModelError(f"system {name}: {problem}, first at {differs[0]!r}; they must have the same terms")
