"""Our side: ``merge_chunks``.

python -m bench.merge.ours INPUT OUTPUT K
"""

import sys
from pathlib import Path

from beirflow.files.records import Job
from beirflow.runs.merge import merge_chunks
from by_name import call

if __name__ == "__main__":
    source, output, k = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    chunks = range(int(source.name))  # the folder is named after its number of chunks
    call(
        merge_chunks,
        system="none",
        dataset="none",
        candidate_paths=[str(source / f"chunk-{chunk}.npz") for chunk in chunks],
        queries_path=str(source / "queries.parquet"),
        documents_path=str(source / "documents.parquet"),
        top_k=k,
        run_path=str(output / "run.parquet"),
        record_path=str(output / "run.json"),
        job=Job(source.parents[1]),  # as the candidates say it
    )
