"""Term weights of the queries and of each chunk of documents."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Made, step
from beirflow.core.errors import ModelError
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.document_text import Kind, as_read
from beirflow.families.expansions.files import ExpansionFile
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.families.sparse.files import ChunkWeights, QueryWeights, Rows, in_rows, quantized
from beirflow.families.sparse.layouts import Part, read_parts
from beirflow.families.sparse.settings import INJECT, SparseSettings
from beirflow.families.sparse.weigher import Weigher
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.folder_tokenizer import tokenizer_of
from beirflow.models.computing.loading import loading_from
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_record import ModelRecord

STAGES = {"queries": "queries", "documents": "index"}  # names in records of the time that each kind of text takes
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


@step(QueryWeights, stage="queries")
def weigh_queries(queries: Queries, model: ModelRecord, weighing: Weighing) -> Made:
    """Weigh the terms of the queries of a dataset.

    Raises ModelError if the model cannot be loaded, or computes a weight that is not finite; DeviceError if the GPU fails or has
    too little memory; DataError if the model is not the one that was recorded.
    """
    return _weigh("queries", queries.read(["query_id", "text"]), weighing)


@step(ChunkWeights, stage="index")
def weigh_chunk(
    documents: Documents, model: ModelRecord, expansion: ExpansionFile | None, chunk: int, weighing: Weighing
) -> Made:
    """Weigh the terms of the documents of one chunk, like :func:`weigh_queries`; write weights while the next are computed."""
    table = as_read(documents.read([chunk], ["doc_id", "text"]))
    if expansion is None:
        return _weigh("documents", table, weighing)
    joined = {"added": expansion.record["expansion"], "join": INJECT}
    return _weigh("documents", with_added(table, expansion, chunk), weighing, joined)


def _weigh(kind: Kind, table: pa.Table, weighing: Weighing, joined: Mapping[str, str] | None = None) -> Made:
    """Weigh the terms of texts while they are written; what is only known then is added to the facts."""
    weighing.use_threads()
    settings = weighing.settings
    different = different_texts(table)

    def weights() -> Iterator[Rows]:
        terms = 0
        with weighing.gpu(saves_memory="lower token_budget or max_length"):
            start = time.perf_counter()
            weigher = load_weigher(weighing, kind)
            loaded = time.perf_counter()
            try:
                for rows in in_rows(weigher.windows(different.texts, kind, different.added), different.indices):
                    kept = quantized(rows, settings.quantize)
                    terms += len(kept.terms)
                    yield kept
            except NotFiniteError as error:
                row = int(np.argmax(different.indices == error.row))
                message = f"the weights of {table.column_names[0]} {table[0][row].as_py()!r} hold infinity or not-a-number"
                raise ModelError(f"system {settings.name}: {message}; use precision float32, or look at its text") from error
        made.fields |= {
            "made": weigher.made(),
            "computation": weigher.computation(),
            "counts": {**weigher.counts(kind), f"terms_of_{kind}": terms},
            "seconds": {"load": loaded - start, STAGES[kind]: time.perf_counter() - loaded},  # not the wait for a GPU
            "weighed": {**weigher.described(), **(joined or {}), "quantize": settings.quantize},
        }

    made = Made((weights(), settings.quantize), system=settings.name, rows=table.num_rows, distinct_texts=len(different.texts))
    return made


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
