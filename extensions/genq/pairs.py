"""Pairs of a generated query and its document, and their division into batches."""

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from beirflow.core.records import Job
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents
from beirflow.data.document_text import as_read
from beirflow.families.expansions.files import COLUMNS, checked_expansion

FILE_ROWS = 65_536  # rows of a file that are read at a time


@dataclass(frozen=True)
class Pairs:
    """Training data of an encoder: p pairs of n documents."""

    doc_ids: list[str]  # ids of the documents that have a query
    texts: list[str]  # their texts
    documents: np.ndarray  # for each pair, the place of its document, int64 of shape (p,)
    queries: list[str]  # for each pair, its query; a document has no query twice

    def order(self, seed: int, epoch: int) -> np.ndarray:
        """Return the pairs, int64 of shape (p,), in an order given by seed, epoch, ids and texts, not by the corpus."""
        # A hash of each pair, not a draw in turn: another chunking of the corpus keeps the order.
        keys = np.empty(len(self.queries), np.uint64)
        for pair, (document, query) in enumerate(zip(self.documents.tolist(), self.queries, strict=True)):
            content = f"{seed}\0{epoch}\0{self.doc_ids[document]}\0{query}".encode()
            keys[pair] = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
        return np.argsort(keys, kind="stable")

    def batches(self, size: int, seed: int, epoch: int) -> list[np.ndarray]:
        """Divide the pairs into batches, int64 of shape (size,), in which no document and no query occurs twice.

        Equal texts count as one: a document that occurred twice would be wrong for the other query that was written for it. A
        pair that does not fit into a batch goes into the next; pairs that are left when no whole batch can be made are left out.
        """
        texts, queries = _numbered(self.texts)[self.documents].tolist(), _numbered(self.queries).tolist()
        waiting = deque(self.order(seed, epoch).tolist())
        batches: list[np.ndarray] = []
        while len(waiting) >= size:
            batch: list[int] = []
            later: list[int] = []
            seen_texts: set[int] = set()
            seen_queries: set[int] = set()
            while waiting and len(batch) < size:
                pair = waiting.popleft()
                if texts[pair] in seen_texts or queries[pair] in seen_queries:
                    later.append(pair)
                    continue
                batch.append(pair)
                seen_texts.add(texts[pair])
                seen_queries.add(queries[pair])
            if len(batch) < size:
                break
            batches.append(np.array(batch))
            # Back to the front, in their order: they are the first of the next batch.
            waiting.extendleft(reversed(later))
        return batches


def _numbered(texts: Sequence[str]) -> np.ndarray:
    """Return a number for each text, the same for equal texts."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)


def read_pairs(documents_path: str, query_paths: Sequence[str], separator: str | None, job: Job) -> Pairs:
    """Read the queries that were written for the documents of a corpus, by chunk, and those documents.

    ``separator`` joins title and text; None for the space that is there. The pairs are in the order of the corpus. Raises
    DataError for a file that was damaged, or made of another corpus.
    """
    doc_ids: list[str] = []
    texts: list[str] = []
    queries: list[list[str]] = []
    with Documents(documents_path) as documents:
        for chunk, path in enumerate(query_paths):
            batches = checked_expansion(path, "queries", documents_path, job).batches(FILE_ROWS)
            rows = pa.Table.from_batches(batches, COLUMNS["queries"])
            table = documents.read([chunk], ["doc_id", "text", "title_bytes"])
            if not rows["doc_id"].combine_chunks().equals(table["doc_id"].combine_chunks()):
                raise damaged(path, f"its documents are not those of chunk {chunk} of {documents_path}")
            here = pa.array([row for row, written in enumerate(rows["queries"].to_pylist()) if written], pa.int64())
            table, rows = table.take(here), rows.take(here)
            doc_ids += table["doc_id"].to_pylist()
            texts += as_read(table, separator)["text"].to_pylist()
            queries += [list(dict.fromkeys(written)) for written in rows["queries"].to_pylist()]
    counts = [len(written) for written in queries]
    return Pairs(doc_ids, texts, np.repeat(np.arange(len(counts)), counts), [query for written in queries for query in written])
