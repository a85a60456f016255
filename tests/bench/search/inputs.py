"""Make random unit vectors for queries and documents, as the encoding jobs would have left them.

    python -m bench.search.inputs FOLDER QUERIES DOCUMENTS...

A folder a number of documents. One document in a hundred is a copy of one of a few others, so that there are ties, also at the
cut.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from beir_writer import write_corpus_record
from beirflow.files.digests import file_digest
from beirflow.files.records import Job, write_json, write_record

SYSTEM = "random"
DIM = 384
COPIES_OF_EACH = 10


def unit_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Directions that are equally likely; float32 of shape (count, DIM)."""
    vectors = rng.standard_normal((count, DIM), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def document_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    """The same, with groups of equal vectors at random places."""
    vectors = unit_vectors(rng, count)
    copies = rng.permutation(count)[: count // 100]
    originals = rng.integers(0, count, max(1, len(copies) // COPIES_OF_EACH))
    vectors[copies] = vectors[rng.choice(originals, len(copies))]
    return vectors


def store(path: Path, vectors: np.ndarray) -> None:
    """Write vectors with the record that goes with them."""
    np.save(path, vectors)
    inputs = [path.with_name(name) for name in ("queries.parquet", "documents.parquet", "model.json")]
    write_record(
        path.with_suffix(".json"),
        Job(path.parent),
        inputs={source: file_digest(source) for source in inputs},
        outputs={path: file_digest(path)},
        made={"precision": "float32"},
        system=SYSTEM,
    )


def write(folder: Path, queries: int, documents: int) -> None:
    """Write the input of one search."""
    rng = np.random.default_rng((queries, documents))
    folder.mkdir(parents=True)
    doc_ids = [f"d{number}" for number in rng.permutation(documents)]
    pq.write_table(pa.table({"query_id": [f"q{number}" for number in range(queries)]}), folder / "queries.parquet")
    pq.write_table(pa.table({"doc_id": doc_ids}), folder / "documents.parquet", row_group_size=documents)
    write_corpus_record(folder)
    write_json(folder / "model.json", {})
    store(folder / "queries.npy", unit_vectors(rng, queries))
    store(folder / "chunk.npy", document_vectors(rng, documents))


if __name__ == "__main__":
    for count in sys.argv[3:]:
        write(Path(sys.argv[1], count), int(sys.argv[2]), int(count))
