"""Make what an encoding job reads: a chunk of one document, and the settings that Snakemake would hand to it.

python -m bench.fixed_cost.inputs FOLDER
"""

import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from beirflow.catalogue import load_catalogue
from beirflow.files import file_digest, write_json

SYSTEM = "all-minilm-l6-v2"
TEXT = "Retrieval is the first step of answering a question from a collection of documents."


def write(folder: Path) -> None:
    """Write the documents, the records of the corpus and the model, and the fields of the system."""
    folder.mkdir(parents=True)
    documents = folder / "documents.parquet"
    pq.write_table(pa.table({"doc_id": ["d"], "text": pa.array([TEXT], pa.large_string())}), documents)
    write_json(folder / "corpus.json", {"sha256": {documents.name: file_digest(documents)}})
    write_json(folder / "model.json", {})
    write_json(folder / "system.json", asdict(load_catalogue().systems[SYSTEM]))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
