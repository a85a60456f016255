"""Make what an encoding job reads: a chunk of one document, and the settings that Snakemake would hand to it.

python -m bench.fixed_cost.inputs FOLDER
"""

import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from beir_writer import write_corpus_record
from beirflow.experiment.catalogue import load_catalogue
from beirflow.files.records import write_json
from beirflow.models.model_files import fetch_model

SYSTEM = "all-minilm-l6-v2"
TEXT = "Retrieval is the first step of answering a question from a collection of documents."


def write(folder: Path) -> None:
    """Write the documents, the records of the corpus and the model, and the fields of the system."""
    folder.mkdir(parents=True)
    documents = folder / "documents.parquet"
    pq.write_table(pa.table({"doc_id": ["d"], "text": pa.array([TEXT], pa.large_string())}), documents)
    write_corpus_record(folder)
    system = load_catalogue().systems[SYSTEM]
    fetch_model(system=system, output_path=str(folder / "model.json"))
    write_json(folder / "system.json", asdict(system))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
