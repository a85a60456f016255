"""Our side: what the adapter of ``encode_chunk`` does, on a chunk of one document.

python -m bench.fixed_cost.ours INPUT OUTPUT THREADS
"""

import sys
from pathlib import Path

from beirflow.files.records import read_json
from beirflow.jobs.job import job_log

if __name__ == "__main__":
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    with job_log(str(output / "job.log")):
        from beirflow.dense.encode import encode_chunk

        encode_chunk(
            documents_path=str(source / "documents.parquet"),
            chunk=0,
            corpus_path=str(source / "corpus.json"),
            model_path=str(source / "model.json"),
            output_path=str(output / "chunk-0.npy"),
            system=read_json(source / "system.json"),
            precision="float32",
            device="auto",
            token_budget="auto",
            threads=int(sys.argv[3]),
        )
