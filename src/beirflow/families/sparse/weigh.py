"""Term weights of the queries and of each chunk of documents."""

from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from beirflow.core.artifact import Made, step
from beirflow.core.errors import ModelError
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.expansions.files import ExpansionFile
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.families.sparse.files import ChunkWeights, QueryWeights, Rows, quantized
from beirflow.families.sparse.layouts import Part, read_parts
from beirflow.families.sparse.settings import INJECT, SparseSettings
from beirflow.families.sparse.weigher import Weigher
from beirflow.families.texts import ADDED, Texts, in_rows, represented
from beirflow.models.computing.folder_tokenizer import tokenizer_of
from beirflow.models.computing.loading import loading_from
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_record import ModelRecord
from beirflow.models.own_class import load_class

BATCH_DOCUMENTS = 4096  # documents whose expansion is read at once
Weighing: TypeAlias = Computing[SparseSettings]  # settings of a job that weighs terms


def with_added(table: pa.Table, added: ExpansionFile, chunk: int) -> pa.Table:
    """Append the queries that are added to each document, as one text, in the column :data:`ADDED`.

    Raises DataError if the expansion is damaged, or of another number of documents.
    """
    added.check_rows(WrittenQueries.kind, chunk, table.num_rows)
    return table.append_column(ADDED, pa.chunked_array(list(added.joined(BATCH_DOCUMENTS)), pa.large_string()).combine_chunks())


@step(QueryWeights, stage="queries")
def weigh_queries(queries: Queries, model: ModelRecord, weighing: Weighing) -> Made:
    """Weigh the terms of the queries of a dataset.

    Raises ModelError if the model cannot be loaded, or computes a weight that is not finite; DeviceError if the GPU fails or has
    too little memory; DataError if the model is not the one that was recorded.
    """
    return _weigh(Texts.of("queries", queries.read(["query_id", "text"])), weighing)


@step(ChunkWeights, stage="index")
def weigh_chunk(
    documents: Documents, model: ModelRecord, expansion: ExpansionFile | None, chunk: int, weighing: Weighing
) -> Made:
    """Weigh the terms of the documents of one chunk, like :func:`weigh_queries`; write weights while the next are computed."""
    table = documents.texts(chunk)
    if expansion is None:
        return _weigh(Texts.of("documents", table), weighing)
    joined = {"added": expansion.record["expansion"], "join": INJECT}
    return _weigh(Texts.of("documents", with_added(table, expansion, chunk)), weighing, joined)


def _weigh(texts: Texts, weighing: Weighing, joined: Mapping[str, str] | None = None) -> Made:
    """Weigh the terms of texts while they are written."""
    quantize = weighing.settings.quantize

    def weigh(weigher: Any) -> Generator[Rows, None, dict[str, Any]]:
        """Yield weights of terms; return fields of the record."""
        terms = 0
        added = [] if texts.added is None else [texts.added]
        windows = weigher.windows(texts.different, texts.kind, *added)
        for rows in in_rows(windows, texts.indices, count=lambda rows: len(rows.counts), one=Rows.one, together=Rows.together):
            kept = quantized(rows, quantize)
            terms += len(kept.terms)
            yield kept
        weighed = {**weigher.described(), **(joined or {}), "quantize": quantize}
        return {"weighed": weighed, "counts": {f"terms_of_{texts.kind}": terms}}

    made = represented(texts, weighing, partial(load_weigher, weighing, texts.kind), weigh)
    made.content = made.content, quantize
    return made


def load_weigher(weighing: Weighing, kind: str) -> Any:
    """Load the weigher of a kind of text, while the digests of its files are compared.

    Raises ModelError if the model cannot be loaded, or queries and documents have different vocabularies.
    """
    settings = weighing.settings
    with checked_meanwhile(partial(check_model, settings, weighing.model_path)):
        weigher = weigher_of(settings, kind, **weighing.on)
    if kind == "queries" and isinstance(weigher, Weigher):
        _check_vocabulary(settings.name, weigher, read_parts(settings).documents)
    return weigher


def weigher_of(settings: SparseSettings, kind: str, **on: Any) -> Any:
    """Load the weigher of a kind of text of a system."""
    if settings.encoder:
        return load_class(settings, device=on["device"])
    return Weigher(settings.name, read_parts(settings).of(kind), **on)


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
