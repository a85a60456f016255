"""Our side: ``index_chunk`` of the one chunk and ``sum_statistics``; or ``search_index``; each from files to files.

python -m bench.bm25.ours index INPUT OUTPUT THREADS
python -m bench.bm25.ours search INPUT INDEX OUTPUT K THREADS
"""

import sys
from pathlib import Path

from beirflow.files.records import Job
from beirflow.jobs.lean_arrow import without_pandas
from beirflow.lexical.index import Index
from beirflow.lexical.index_chunk import index_chunk
from beirflow.lexical.search_index import search_index
from beirflow.lexical.settings import LexicalSettings
from beirflow.lexical.statistics import sum_statistics
from by_name import call

from bench.child import timed_call

POSTINGS, STATISTICS = "chunk-0.arrow", "statistics.parquet"


def index(source: Path, output: Path, threads: int) -> None:
    """Analyse the documents, and sum up the statistics."""
    job, postings = Job(source.parent), str(output / POSTINGS)
    with timed_call():
        index_chunk(
            documents_path=str(source / "documents.parquet"),
            chunk=0,
            index=Index(),
            output_path=postings,
            job=job,
            threads=threads,
        )
        sum_statistics(postings_paths=[postings], index=Index(), output_path=str(output / STATISTICS), job=job)


def search(source: Path, made: Path, output: Path, k: int, threads: int) -> None:
    """Search, with the parameters of every peer: k1 0.9, b 0.4, title and text as one field."""
    with timed_call():
        call(
            search_index,
            settings=LexicalSettings("bm25", k1=0.9, b=0.4),
            system="bm25",
            queries_path=str(source / "queries.parquet"),
            documents_path=str(source / "documents.parquet"),
            chunk=0,
            postings_path=str(made / POSTINGS),
            statistics_path=str(made / STATISTICS),
            output_path=str(output / "candidates.npz"),
            top_k=k,
            drop_self_matches=True,
            job=Job(source.parent),
            threads=threads,
        )


if __name__ == "__main__":
    without_pandas()
    if sys.argv[1] == "index":
        index(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        search(*map(Path, sys.argv[2:5]), *map(int, sys.argv[5:]))
