"""Our side: what the entrance of ``encode_chunk`` does, on a chunk of one document.

python -m bench.fixed_cost.ours INPUT OUTPUT THREADS
"""

import sys
from pathlib import Path

from beirflow.files.records import Job, read_json
from beirflow.jobs.job import surroundings
from beirflow.models.settings import EncoderSettings

if __name__ == "__main__":
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    with surroundings(str(output / "job.log")):
        from beirflow.dense.encode import Encoding, encode_chunk

        encode_chunk(
            documents_path=str(source / "documents.parquet"),
            chunk=0,
            output_path=str(output / "chunk-0.npy"),
            encoding=Encoding(
                settings=EncoderSettings(**read_json(source / "encoder.json")),
                model_path=str(source / "model.json"),
                precision="float32",
                threads=int(sys.argv[3]),
            ),
            job=Job(source.parent),
        )
