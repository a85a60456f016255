"""The top k of many dense vectors, ours beside faiss and beir."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import report, timed_call

SYSTEM, DIM, COPIES_OF_EACH = "random", 384, 10
QUERY_BLOCK = 50
FILES = ("queries", "chunk")

TOLERANCE = 1e-5
"""Of scores that were summed in float32."""


def inputs(folder: Path, queries: int, *counts: int) -> None:
    """Write random unit vectors as the encoding jobs would have left them, a folder for each number of documents."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from beir_writer import write_corpus_record
    from beirflow.core.records import Job, write_record

    for count in counts:
        rng, here = np.random.default_rng((queries, count)), folder / str(count)
        here.mkdir(parents=True)
        doc_ids = [f"d{number}" for number in rng.permutation(count)]
        pq.write_table(pa.table({"query_id": [f"q{number}" for number in range(queries)]}), here / "queries.parquet")
        pq.write_table(pa.table({"doc_id": doc_ids}), here / "documents.parquet", row_group_size=count)
        write_corpus_record(here, folder.parent)
        write_record(here / "model.json", Job(here.parents[1]), inputs={}, outputs={})
        store(here / "queries.npy", unit_vectors(rng, queries))
        store(here / "chunk.npy", document_vectors(rng, count))


def unit_vectors(rng: np.random.Generator, count: int, dim: int = DIM) -> np.ndarray:
    """Directions that are equally likely; float32 of shape (count, dim)."""
    vectors = rng.standard_normal((count, dim), dtype=np.float32)
    return np.divide(vectors, np.linalg.norm(vectors, axis=1, keepdims=True), out=vectors)


def document_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    """The same; one in a hundred is a copy of one of a few others, so that there are ties, also at the cut."""
    vectors = unit_vectors(rng, count)
    copies = rng.permutation(count)[: count // 100]
    originals = rng.integers(0, count, max(1, len(copies) // COPIES_OF_EACH))
    vectors[copies] = vectors[rng.choice(originals, len(copies))]
    return vectors


def store(path: Path, vectors: np.ndarray) -> None:
    """Write vectors with the record that goes with them."""
    from beirflow.core.digests import file_digest
    from beirflow.core.records import Job, write_record

    np.save(path, vectors)
    read = [path.with_name(name) for name in ("queries.parquet", "documents.parquet", "model.json")]
    write_record(
        path.with_suffix(".json"),
        Job(path.parents[2]),
        inputs={source: file_digest(source) for source in read},
        outputs={path: file_digest(path)},
        made={"precision": "float32"},
        system=SYSTEM,
    )


def ours(output: Path, source: Path, k: int, threads: int) -> None:
    """Time ``search_chunk`` from files to a file."""
    import pandas  # noqa: F401 (as a job has it already)

    import steps
    from beirflow.core.records import Job
    from beirflow.families.dense.search import search_chunk

    with timed_call():
        steps.run(
            search_chunk,
            Job(source.parents[1]),
            [str(output / f"candidates.{ending}") for ending in ("arrow", "json")],
            model=str(source / "model.json"),
            queries=str(source / "queries.parquet"),
            documents=str(source / "documents.parquet"),
            chunk=0,
            query_vectors=str(source / "queries.npy"),
            chunk_vectors=str(source / "chunk.npy"),
            similarity="dot",
            top_k=k,
            drop_self_matches=True,
            device="auto",
            threads=threads,
        )


def peer_faiss(output: Path, source: Path, k: int, threads: int) -> None:
    """Time reading the same vectors, adding them to an IndexFlatIP, and searching."""
    import faiss

    faiss.omp_set_num_threads(threads)
    with timed_call():
        documents = np.load(source / "chunk.npy")
        index = faiss.IndexFlatIP(documents.shape[1])
        index.add(documents)
        scores, rows = index.search(np.load(source / "queries.npy"), k)
    np.savez(output / "hits.npz", row=rows, score=scores)


def peer_beir(output: Path, source: Path, k: int, threads: int) -> None:
    """Time beir's exact search, with a model whose encoding is to hand out vectors that are in memory already."""
    import pyarrow.parquet as pq
    import torch
    from beir.retrieval.search.dense import DenseRetrievalExactSearch

    class Encoded:
        """A model that has encoded everything; documents are asked for in the order of the file, since all are equally long."""

        def __init__(self) -> None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
            self.queries, self.documents = (torch.from_numpy(np.load(source / f"{name}.npy")).to(device) for name in FILES)
            self.given = 0

        def encode_queries(self, queries: Sequence[str], **options: Any) -> Any:
            return self.queries

        def encode_corpus(self, corpus: Sequence[Mapping[str, str]], **options: Any) -> Any:
            start, self.given = self.given, self.given + len(corpus)
            return self.documents[start : self.given]

    torch.set_num_threads(threads)
    query_ids = pq.read_table(source / "queries.parquet")["query_id"].to_pylist()
    doc_ids = pq.read_table(source / "documents.parquet")["doc_id"].to_pylist()
    corpus = {doc_id: {"title": "", "text": ""} for doc_id in doc_ids}
    model = Encoded()
    with timed_call():
        results = DenseRetrievalExactSearch(model).search(corpus, dict.fromkeys(query_ids, ""), k, "dot")
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    ranked = [sorted(hits.items(), key=lambda hit: -hit[1]) for hits in results.values()]
    rows = np.array([[row_of[doc_id] for doc_id, _ in hits] for hits in ranked])
    np.savez(output / "hits.npz", row=rows, score=np.array([[score for _, score in hits] for hits in ranked]))


def check(source: Path, k: int, mine: Path, *peers: Path) -> None:
    """Compare our ranking with brute force in float64, and our scores with those of the peers."""
    from beirflow.ranking.candidates import Candidates

    rows, scores = (column.reshape(-1, k) for column in Candidates(mine / "candidates.arrow").read()[1:])
    tied = 0
    for query, expected, exact in brute_force(source, k):
        tied += len(expected) > k
        if not (np.array_equal(rows[query], expected[:k]) and np.array_equal(scores[query], exact[:k])):
            sys.exit(f"query {query}: our ranking is not that of brute force in float64")
    for peer in peers:
        with np.load(peer / "hits.npz") as found:
            difference = np.abs(found["score"] - scores).max()
        if not difference <= TOLERANCE:
            sys.exit(f"scores differ from those in {peer} by {difference:.2g}")
    report(agree=f"rankings of {len(rows)} queries are those of brute force, {tied} with a tie at the cut; scores within 1e-5")


def brute_force(source: Path, k: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For each query rows and scores of the first k: score in float64 rounded to float32, then id descending in byte order."""
    import pyarrow.parquet as pq

    queries, documents = (np.load(source / f"{name}.npy").astype(np.float64) for name in FILES)
    ids = [doc_id.encode() for doc_id in pq.read_table(source / "documents.parquet")["doc_id"].to_pylist()]
    place = np.empty(len(ids), np.int64)
    place[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    for start in range(0, len(queries), QUERY_BLOCK):
        for number, scores in enumerate((queries[start : start + QUERY_BLOCK] @ documents.T).astype(np.float32), start):
            rows = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
            rows = rows[np.lexsort((-place[rows], -scores[rows]))]
            yield number, rows, scores[rows]
