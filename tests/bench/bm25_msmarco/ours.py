"""Our side: the jobs of one rule, each in a process of its own, as Snakemake starts them.

    python -m bench.bm25_msmarco.ours RULE FOLDER CHUNKS K THREADS

FOLDER/input is read, and of the rules before what they left in FOLDER/<rule>.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from beirflow.files.records import Job
from beirflow.lexical.index import Index
from beirflow.lexical.index_chunk import index_chunk
from beirflow.lexical.search_index import search_index
from beirflow.lexical.settings import LexicalSettings
from beirflow.lexical.statistics import sum_statistics
from beirflow.runs.merge import merge_chunks
from by_name import call

SYSTEM = "bm25"


class Files:
    """Where everything is.

    Args:
        folder: Of everything.
        chunks: Number of chunks.
    """

    def __init__(self, folder: Path, chunks: int) -> None:
        self.job = Job(folder)
        self.documents, self.queries = (str(folder / f"input/{name}.parquet") for name in ("documents", "queries"))
        self.postings = [str(folder / f"index_chunk/chunk-{chunk}.arrow") for chunk in range(chunks)]
        self.statistics = str(folder / "sum_statistics/statistics.parquet")
        self.candidates = [str(folder / f"search_index/chunk-{chunk}.npz") for chunk in range(chunks)]
        self.run, self.record = (str(folder / f"merge_chunks/run.{suffix}") for suffix in ("parquet", "json"))


def index(files: Files, k: int, threads: int, chunk: int) -> None:
    """Index a chunk."""
    index_chunk(
        documents_path=files.documents,
        chunk=chunk,
        index=Index(),
        output_path=files.postings[chunk],
        job=files.job,
        threads=threads,
    )


def add(files: Files, k: int, threads: int) -> None:
    """Sum up the statistics of all chunks."""
    sum_statistics(postings_paths=files.postings, index=Index(), output_path=files.statistics, job=files.job)


def search(files: Files, k: int, threads: int, chunk: int) -> None:
    """Search a chunk."""
    call(
        search_index,
        settings=LexicalSettings(SYSTEM),
        system=SYSTEM,
        queries_path=files.queries,
        documents_path=files.documents,
        chunk=chunk,
        postings_path=files.postings[chunk],
        statistics_path=files.statistics,
        output_path=files.candidates[chunk],
        top_k=k,
        drop_self_matches=True,
        job=files.job,
        threads=threads,
    )


def merge(files: Files, k: int, threads: int) -> None:
    """Merge the candidates of all chunks."""
    call(
        merge_chunks,
        system=SYSTEM,
        dataset="msmarco",
        candidate_paths=files.candidates,
        queries_path=files.queries,
        documents_path=files.documents,
        top_k=k,
        run_path=files.run,
        record_path=files.record,
        job=files.job,
    )


OF_A_CHUNK: Mapping[str, Callable[[Files, int, int, int], None]] = {"index_chunk": index, "search_index": search}
OF_ALL: Mapping[str, Callable[[Files, int, int], None]] = {"sum_statistics": add, "merge_chunks": merge}


def main(rule: str, folder: Path, chunks: int, k: int, threads: int, chunk: int | None = None) -> None:
    """Run one job, or the jobs of all chunks one after the other."""
    if rule in OF_ALL:
        OF_ALL[rule](Files(folder, chunks), k, threads)
    elif chunk is not None:
        OF_A_CHUNK[rule](Files(folder, chunks), k, threads, chunk)
    else:
        for each in range(chunks):
            subprocess.run([sys.executable, "-m", "bench.bm25_msmarco.ours", *sys.argv[1:], str(each)], check=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
