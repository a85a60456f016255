"""The peer beir: its exact search, with a model whose encoding is to hand out vectors that are in memory already.

python -m bench.search.peer_beir INPUT OUTPUT K THREADS
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from beir.retrieval.search.dense import DenseRetrievalExactSearch

from bench.child import timed_call


class Encoded:
    """A model that has encoded everything; documents are asked for in the order of the file, since all are equally long."""

    def __init__(self, queries: np.ndarray, documents: np.ndarray) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.queries, self.documents = (torch.from_numpy(vectors).to(device) for vectors in (queries, documents))
        self.given = 0

    def encode_queries(self, queries: Sequence[str], **options: Any) -> torch.Tensor:
        """The vectors of all queries."""
        return self.queries

    def encode_corpus(self, corpus: Sequence[Mapping[str, str]], **options: Any) -> torch.Tensor:
        """The vectors of the next documents."""
        start, self.given = self.given, self.given + len(corpus)
        return self.documents[start : self.given]


def save(path: Path, results: Mapping[str, Mapping[str, float]], doc_ids: Sequence[str]) -> None:
    """Write rows and scores, best first, as arrays of shape (queries, k)."""
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    ranked = [sorted(hits.items(), key=lambda hit: -hit[1]) for hits in results.values()]
    rows = np.array([[row_of[doc_id] for doc_id, _ in hits] for hits in ranked])
    np.savez(path, row=rows, score=np.array([[score for _, score in hits] for hits in ranked]))


def main(source: Path, output: Path, k: int, threads: int) -> None:
    """Search, and write the hits."""
    torch.set_num_threads(threads)
    query_ids = pq.read_table(source / "queries.parquet")["query_id"].to_pylist()
    doc_ids = pq.read_table(source / "documents.parquet")["doc_id"].to_pylist()
    corpus = {doc_id: {"title": "", "text": ""} for doc_id in doc_ids}
    model = Encoded(np.load(source / "queries.npy"), np.load(source / "chunk.npy"))
    with timed_call():
        results = DenseRetrievalExactSearch(model).search(corpus, dict.fromkeys(query_ids, ""), k, "dot")
    save(output / "hits.npz", results, doc_ids)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
