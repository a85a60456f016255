"""Postings of one chunk, whose documents are indexed unchanged, with generated queries, or as weighted words."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.progress import Progress
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents
from beirflow.families.expansions.files import ExpansionFile
from beirflow.families.lexical.fields import Index
from beirflow.families.lexical.indexing import Texts, WeightedWords, index_texts, index_words
from beirflow.families.lexical.postings import ChunkPostings, Postings, made_with

BATCH_DOCUMENTS = 4096  # number of documents that are read at once
HUNDRED = 100  # count of a word of the weight 1 (DeepCT, section 3.2)

Advance = Callable[[int], None]
Batch = TypeVar("Batch")


@step(ChunkPostings, stage="index")
def index_chunk(documents: Documents, expansion: ExpansionFile | None, index: Index, chunk: int, threads: int = 1) -> Made:
    """Analyse the documents of one chunk, with what is added to them: postings, which serve every system with this index."""
    with Progress("index", documents.sizes[chunk], "documents") as progress:
        postings = index_documents(documents, chunk, index, expansion, progress.advance, threads)
    rows = len(postings.text_lengths)
    return Made((postings, index.name), made=made_with(index.analyzer), analyzer=index.name, rows=rows)


def index_documents(
    documents: Documents, chunk: int, index: Index, added: ExpansionFile | None, advance: Advance, threads: int = 1
) -> Postings:
    """Index the documents of a chunk with what is added to them, if anything is.

    ``advance`` is called with the number of documents whenever some have been read; ``threads``, besides the calling one, cut
    texts into pieces. Raises DataError if what is added is damaged, or not that of these documents.
    """
    if added:
        added.check_rows(index.kind, chunk, documents.sizes[chunk])
    if added and index.kind == "weights":
        words = _counted(_words(added, index.use), advance, lambda batch: batch.documents)
        return index_words(words, threads, index.analyzer)
    texts = _counted(_texts(documents, chunk, index, added), advance, lambda batch: len(batch[1]))
    return index_texts(texts, threads, index.analyzer)


def frequencies(weights: np.ndarray, scale: str) -> np.ndarray:
    """Return the counts of words from weights, float64 from 0, on the scale ``sqrt`` or ``none``.

    They are int64, rounded to the nearest, of two to the even one.
    """
    return np.rint(np.minimum(HUNDRED * (np.sqrt(weights) if scale == "sqrt" else weights), 1e9)).astype(np.int64)


def _texts(documents: Documents, chunk: int, index: Index, added: ExpansionFile | None) -> Iterator[Texts]:
    """Yield titles and texts with the queries behind the texts; or the queries as titles, and titles and texts as texts."""
    if added is None:
        yield from documents.titles_and_texts(chunk, BATCH_DOCUMENTS)
        return
    queries = added.joined(BATCH_DOCUMENTS)
    if index.use == "field":
        batches = documents.batches(chunk, ["text"], BATCH_DOCUMENTS)
        yield from ((joined, batch["text"]) for joined, batch in zip(queries, batches, strict=True))
        return
    for joined, (titles, texts) in zip(queries, documents.titles_and_texts(chunk, BATCH_DOCUMENTS), strict=True):
        yield titles, pc.binary_join_element_wise(texts, joined.cast(texts.type), pa.scalar(" ", texts.type))


def _words(added: ExpansionFile, scale: str) -> Iterator[WeightedWords]:
    for batch in added.batches(BATCH_DOCUMENTS):
        words, weights = batch["words"], batch["weights"].flatten().to_numpy()
        if len(words.flatten()) != len(weights) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise damaged(added.path, "found weights that are not one per word, finite and not negative")
        rows = np.repeat(np.arange(len(words)), pc.list_value_length(words).to_numpy())
        yield WeightedWords(words.flatten().cast(pa.large_string()), rows, frequencies(weights, scale), len(words))


def _counted(batches: Iterator[Batch], advance: Advance, documents: Callable[[Batch], int]) -> Iterator[Batch]:
    for batch in batches:
        yield batch
        advance(documents(batch))
