"""Postings of one chunk, whose documents are indexed unchanged, with generated queries, or as weighted words."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.progress import Progress
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents
from beirflow.families.expansions.files import ExpansionFile
from beirflow.families.lexical.fields import Index
from beirflow.families.lexical.indexing import Batch, Texts, index_batches, index_texts
from beirflow.families.lexical.postings import ChunkPostings, made_with

BATCH_DOCUMENTS = 4096  # documents that are read at once
HUNDRED = 100  # count of a word of the weight 1 (DeepCT, section 3.2)


@step(ChunkPostings, stage="index")
def index_chunk(documents: Documents, expansion: ExpansionFile | None, index: Index, chunk: int, threads: int = 1) -> Made:
    """Analyse the documents of one chunk, with what is added to them: postings, which serve every system with this index.

    ``threads``, besides the calling one, cut texts into pieces. Raises DataError if an expansion is damaged or of other texts.
    """
    size = documents.sizes[chunk]
    if expansion:
        expansion.check_rows(index.kind, chunk, size)
    with Progress("index", size, "documents") as progress:
        if expansion and index.kind == "weights":
            postings = index_batches(_words(expansion, index.use, progress), threads, index.analyzer)
        else:
            postings = index_texts(_texts(documents, chunk, index, expansion, progress), threads, index.analyzer)
    return Made((postings, index.name), made=made_with(index.analyzer), analyzer=index.name, rows=size)


def _texts(
    documents: Documents, chunk: int, index: Index, expansion: ExpansionFile | None, progress: Progress
) -> Iterator[Texts]:
    """Yield titles and texts, with queries behind the texts; or queries in place of titles, and title and text as one text."""
    queries = expansion.joined(BATCH_DOCUMENTS) if expansion else None
    if queries and index.use == "field":
        whole = (batch["text"] for batch in documents.batches(chunk, ["text"], BATCH_DOCUMENTS))
        batches: Iterator[Texts] = zip(queries, whole, strict=True)
    elif queries:
        plain = documents.titles_and_texts(chunk, BATCH_DOCUMENTS)
        batches = ((titles, _append(texts, added)) for (titles, texts), added in zip(plain, queries, strict=True))
    else:
        batches = documents.titles_and_texts(chunk, BATCH_DOCUMENTS)
    for batch in batches:
        yield batch
        progress.advance(len(batch[1]))


def _append(texts: pa.Array, added: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(texts, added.cast(texts.type), pa.scalar(" ", texts.type))


def _words(expansion: ExpansionFile, scale: str, progress: Progress) -> Iterator[Batch]:
    """Yield words as texts with the counts that their weights give on the scale ``sqrt`` or ``none``; without those of 0.

    Counts are rounded to the nearest integer, of two to the even one.
    """
    for batch in expansion.batches(BATCH_DOCUMENTS):
        words, weights = batch["words"], batch["weights"].flatten().to_numpy()
        if len(words.flatten()) != len(weights) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise damaged(expansion.path, "found weights that are not one per word, finite and not negative")
        times = np.rint(np.minimum(HUNDRED * (np.sqrt(weights) if scale == "sqrt" else weights), 1e9)).astype(np.int64)
        document = np.repeat(np.arange(len(words)), pc.list_value_length(words).to_numpy())
        counts = times > 0
        texts = words.flatten().filter(pa.array(counts)).cast(pa.large_string())
        yield Batch(texts, 2 * document[counts], len(words), times[counts])
        progress.advance(len(words))
