"""Make what an encoding job reads: a chunk of one document, and the settings that Snakemake would hand to it.

python -m bench.fixed_cost.inputs FOLDER
"""

import sys
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from beir_writer import write_corpus_record
from beirflow.datasets.corpus_reader import DOCUMENTS
from beirflow.experiment.systems import catalogue_systems
from beirflow.files.records import Job, write_json
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings

SYSTEM = "all-minilm-l6-v2"
TEXT = "Retrieval is the first step of answering a question from a collection of documents."


def write(folder: Path) -> None:
    """Write the documents, the records of the corpus and the model, and the settings of the encoder."""
    folder.mkdir(parents=True)
    documents = folder / "documents.parquet"
    pq.write_table(pa.table([["d"], [TEXT], [0]], schema=DOCUMENTS), documents)
    write_corpus_record(folder)
    settings = catalogue_systems()[SYSTEM].settings
    fetch_model(system=settings, said=["pooling", "similarity"], output_path=str(folder / "model.json"), job=Job(folder))
    write_json(folder / "encoder.json", {field.name: getattr(settings, field.name) for field in fields(EncoderSettings)})


if __name__ == "__main__":
    write(Path(sys.argv[1]))
