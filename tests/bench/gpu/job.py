"""A job, in a process of its own: ``python -m bench.gpu.job WHAT FOLDER DEVICE PRECISION NUMBER``; imports what a job imports."""

import sys
from pathlib import Path
from typing import Any

THREADS, SHARING, K = 8, 2, 1000
"""Threads of a job, jobs that share a GPU, and documents that a search keeps of each query."""


def main(what: str, folder: str, device: str, precision: str, number: str) -> None:
    """Do what the function of a job does."""
    import steps
    from beirflow.core.records import Job, read_json
    from beirflow.models.settings import EncoderSettings
    from beirflow.run.interrupts import end_with_snakemake
    from beirflow.run.job import surroundings

    end_with_snakemake()  # here the benchmark: an interrupted one leaves no job behind
    here = Path(folder)
    model, job = str(here / "model.json"), Job(here)
    shared: dict[str, Any] = {"model": model, "device": device, "threads": THREADS, "jobs_per_gpu": SHARING}
    queries, documents = str(here / "queries.parquet"), str(here / "documents.parquet")
    with surroundings(here / f"{what}-{number}.log"):
        if what == "search_chunk":
            from beirflow.families.dense.search import search_chunk

            vectors = {"query_vectors": str(here / "queries.npy"), "chunk_vectors": str(here / "chunk-0.npy")}
            of_corpus = {"documents": documents, "queries": queries, "chunk": 0}
            how = {"similarity": "dot", "top_k": K, "drop_self_matches": False}
            outputs = [str(here / f"hits-{number}.{ending}") for ending in ("arrow", "json")]
            steps.run(search_chunk, job, outputs, **shared, **vectors, **of_corpus, **how)
            return
        settings = EncoderSettings(**read_json(here / "encoder.json"))
        how = {"settings": settings, "precision": precision, "model_path": model, **shared}
        from beirflow.families.dense.encode import encode_chunk, encode_queries

        if what == "encode_queries":
            steps.run(encode_queries, job, [str(here / "queries.npy"), str(here / "queries.json")], queries=queries, **how)
        else:
            outputs = [str(here / f"chunk-{number}.{ending}") for ending in ("npy", "json")]
            steps.run(encode_chunk, job, outputs, documents=documents, chunk=0, **how)


if __name__ == "__main__":
    main(*sys.argv[1:])
