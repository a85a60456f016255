"""Our side: ``search_chunk`` from files to a file.

python -m bench.search.ours INPUT OUTPUT K THREADS
"""

import sys
from pathlib import Path

from beirflow.dense.search import search_chunk
from beirflow.files.records import Job
from beirflow.jobs.lean_arrow import without_pandas
from by_name import call

from bench.child import timed_call
from bench.search.inputs import SYSTEM

if __name__ == "__main__":
    without_pandas()
    source, output, k, threads = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    with timed_call():
        call(
            search_chunk,
            system=SYSTEM,
            model_path=str(source / "model.json"),
            queries_path=str(source / "queries.parquet"),
            documents_path=str(source / "documents.parquet"),
            chunk=0,
            query_vectors_path=str(source / "queries.npy"),
            chunk_vectors_path=str(source / "chunk.npy"),
            output_path=str(output / "candidates.npz"),
            similarity="dot",
            top_k=k,
            drop_self_matches=True,
            job=Job(source),
            device="auto",
            threads=threads,
        )
