"""Vectors of small corpora by one dense system, made in this process as the rules do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import steps
from beir_writer import Chunks, match_corpora, write_corpus_record, write_documents
from beirflow.core import layout
from beirflow.core.layout import record_of
from beirflow.core.records import Job, read_json, write_record
from beirflow.families.dense.encode import Encoding, encode_chunk, encode_queries
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings

SYSTEM = "tiny"
ON_CPU = {"device": "cpu", "precision": "float32", "token_budget": 512}


class DenseResults:
    """Corpora, by default ``some``, and their vectors; ``fields`` are settings of the system."""

    def __init__(self, results: Path, model: Path, **fields: Any) -> None:
        self.results, self.job = results, Job(results, "encode_chunk/tiny/some/chunk-0", "c0de")
        self.system = EncoderSettings(SYSTEM, model=str(model), **{"max_length": 64, "pooling": "mean", **fields})
        self.model, self.precision = results / layout.MODEL(system=SYSTEM), "float32"
        if model.is_dir():
            fetch_model(system=self.system, configured=["pooling", "similarity"], output_path=str(self.model), job=self.job)
        else:
            write_record(self.model, self.job, inputs={}, outputs={})

    def corpus(self, name: str, dataset: str = "some") -> Path:
        """The path of a file of a corpus."""
        return self.results / "corpora" / dataset / name

    def path(self, dataset: str = "some", chunk: int | None = 0) -> Path:
        """The path of the vectors of a chunk, or of the queries."""
        names = {"system": SYSTEM, "dataset": dataset}
        return self.results / (layout.QUERY_VECTORS(**names) if chunk is None else layout.CHUNK_VECTORS(chunk=chunk, **names))

    def vectors(self, dataset: str = "some", chunk: int | None = 0) -> np.ndarray:
        """The vectors of a chunk, or of the queries."""
        return np.load(self.path(dataset, chunk))

    def record(self, dataset: str = "some", chunk: int | None = 0) -> dict[str, Any]:
        """The record of these."""
        return read_json(record_of(self.path(dataset, chunk)))

    def write(self, chunks: Chunks, dataset: str = "some") -> None:
        """Write the documents of a corpus, ``d0``, ``d1``, … of ``some``, else with the name of the dataset for the d."""
        path = write_documents(self.corpus("documents.parquet", dataset), chunks, "d" if dataset == "some" else dataset)
        write_corpus_record(path.parent, self.results)

    def write_queries(self, texts: Sequence[str], pieces: int = 1000) -> None:
        """Write the queries ``q0``, ``q1``, … of ``some``."""
        path = self.corpus("queries.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"query_id": [f"q{i}" for i in range(len(texts))], "text": texts}), path, row_group_size=pieces)
        write_corpus_record(path.parent, self.results)

    def encode(self, dataset: str = "some", chunk: int | None = 0, *, reuse: str | None = None) -> np.ndarray:
        """Encode a chunk, which may reuse the vectors of another corpus, or the queries."""
        of_corpus: dict[str, Any] = {"queries": str(self.corpus("queries.parquet", dataset))}
        if chunk is not None:
            of_corpus = {"documents": str(self.corpus("documents.parquet", dataset)), "chunk": chunk}
        if reuse:
            chunks = pq.ParquetFile(self.corpus("documents.parquet", reuse)).metadata.num_row_groups
            of_corpus["shared_texts"] = str(self.corpus("shared.parquet", dataset))
            of_corpus["shared_vectors"] = [str(self.path(reuse, number)) for number in range(chunks)]
        path = self.path(dataset, chunk)
        how = ON_CPU | {"precision": self.precision}
        steps.run(
            encode_queries if chunk is None else encode_chunk,
            self.job,
            [str(path), str(record_of(path))],
            model=str(self.model),
            encoding=Encoding(self.system, str(self.model), **how),  # type: ignore[arg-type]
            **of_corpus,
        )
        return self.vectors(dataset, chunk)

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Write documents, all in one chunk, and encode them."""
        self.write([texts])
        return self.encode()

    def expected(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of documents, each encoded alone."""
        encoder = TransformersEncoder(self.system, Path(self.system.model), **ON_CPU)
        return np.concatenate([encoder.encode_corpus([text]) for text in texts])

    def match(self, dataset: str, other: str) -> None:
        """Find the texts of a corpus that another has."""
        match_corpora(self.corpus("", dataset), self.corpus("", other))
