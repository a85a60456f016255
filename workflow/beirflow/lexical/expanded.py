"""The documents of a chunk as indexed: unchanged, with generated queries, or as weighted words."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.datasets.corpus_files import Documents
from beirflow.expansions.files import ExpansionFile
from beirflow.files.verified import damaged
from beirflow.lexical.index import Index
from beirflow.lexical.indexing import Texts, WeightedWords, index_texts, index_words
from beirflow.lexical.postings import Postings

BATCH_DOCUMENTS = 4096
"""Documents that are read at once."""

HUNDRED = 100
"""A word of the weight 1 counts this often (DeepCT, section 3.2)."""

Advance = Callable[[int], None]


def index_documents(
    documents: Documents, chunk: int, index: Index, added: ExpansionFile | None, advance: Advance, threads: int = 1
) -> Postings:
    """Index the documents of a chunk.

    Args:
        documents: The corpus.
        chunk: Number of the chunk.
        index: How its documents are indexed.
        added: What is added to them; None where nothing is.
        advance: Called with the number of documents whenever some have been read.
        threads: Threads that cut texts into pieces, besides the calling one.

    Returns:
        The postings.

    Raises:
        DataError: What is added is damaged, or not that of these documents.
    """
    if added:
        added.check_rows(chunk, documents.sizes[chunk])
    if added and index.kind == "weights":
        return index_words(_counted(_words(added, index.use), advance), threads)
    return index_texts(_advancing(_texts(documents, chunk, index, added), advance), threads)


def frequencies(weights: np.ndarray, scale: str) -> np.ndarray:
    """Return the counts of words.

    Args:
        weights: Weights from 0, float64 of shape (n,).
        scale: ``sqrt`` or ``none``.

    Returns:
        int64 of shape (n,), rounded to the nearest, of two to the even one.
    """
    return np.rint(np.minimum(HUNDRED * (np.sqrt(weights) if scale == "sqrt" else weights), 1e9)).astype(np.int64)


def _texts(documents: Documents, chunk: int, index: Index, added: ExpansionFile | None) -> Iterator[Texts]:
    """Titles and texts with the queries behind the texts; or the queries as titles, and titles and texts as texts."""
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


def _counted(batches: Iterator[WeightedWords], advance: Advance) -> Iterator[WeightedWords]:
    for batch in batches:
        yield batch
        advance(batch.documents)


def _advancing(batches: Iterator[Texts], advance: Advance) -> Iterator[Texts]:
    for titles, texts in batches:
        yield titles, texts
        advance(len(texts))
