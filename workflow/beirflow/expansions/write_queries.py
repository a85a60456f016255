"""The step that writes queries for the documents of a chunk."""

from beirflow.computing.model_settings import Computing
from beirflow.expansions.making import make_expansion
from beirflow.expansions.settings import WrittenQueries
from beirflow.expansions.writer import QueryWriter
from beirflow.files.records import Job


def write_queries(*, making: Computing[WrittenQueries], documents_path: str, chunk: int, output_path: str, job: Job) -> None:
    """Write queries for the documents of one chunk.

    Args:
        making: How.
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk.
        output_path: Parquet to write, and its record.
        job: The job, for the record.
    """
    make_expansion(load=QueryWriter, making=making, documents_path=documents_path, chunk=chunk, output_path=output_path, job=job)
