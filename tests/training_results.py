"""Results of a system that is trained, made in this process by the functions that the rules call."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from beirflow.core import layout
from beirflow.core.records import read_json
from beirflow.extensions.expansions.making import Making
from beirflow.extensions.expansions.writer import write_queries
from beirflow.extensions.genq.settings import Training
from beirflow.extensions.genq.train_encoder import train_encoder
from beirflow.models.computing.model_settings import Computing
from beirflow.models.model_files import fetch_model
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings
from lucene_reference import Document
from model_results import VectorResults

SYSTEM = "trained"


class TrainingResults(VectorResults):
    """A prepared corpus, for whose documents queries are written, on which an encoder is trained."""

    def __init__(
        self, folder: Path, corpus: list[Document], base: Path, training: Training, size: int = 1000, **settings: Any
    ) -> None:
        super().__init__(folder, corpus, {"q": "w1"}, size=size)
        self.encoder = EncoderSettings(SYSTEM, str(base), **{"pooling": "mean", **settings})
        self.training = training

    def model_of(self, system: str) -> str:
        return self.of_system(layout.MODEL_OF_DATASET_RECORD)

    def of_system(self, pattern: Any, **names: Any) -> str:
        """A file of the system."""
        return self.path(pattern, system=SYSTEM, **names)

    def queries(self, chunk: int) -> str:
        """The file of the queries of a chunk."""
        return self.path(layout.EXPANSION, expansion=self.training.added.name, chunk=chunk)

    def write(self) -> None:
        """Write queries for all chunks, and find the encoder."""
        wanted = self.training.added
        model = self.path(layout.EXPANSION_MODEL, expansion=wanted.name)
        fetch_model(system=wanted.as_model(), configured=None, output_path=model, job=self.job("fetch_expansion_model"))
        making = Making(wanted, model, precision="float32", device="cpu", token_budget=400)
        for chunk in range(self.chunks):
            where = {"documents_path": self.path(layout.DOCUMENTS), "output_path": self.queries(chunk)}
            write_queries(making=making, chunk=chunk, job=self.job("write_queries"), **where)
        configured, base = ["pooling", "similarity"], self.of_system(layout.MODEL)
        fetch_model(system=self.encoder, configured=configured, output_path=base, job=self.job("fetch_model"))

    def train(self, precision: str = "float32", similarity: str = "cosine") -> Path:
        """Train the encoder; gives its folder."""
        train_encoder(
            base=Computing(self.encoder, self.of_system(layout.MODEL), precision=precision, device="cpu"),
            similarity=similarity,
            training=self.training,
            documents_path=self.path(layout.DOCUMENTS),
            query_paths=[self.queries(chunk) for chunk in range(self.chunks)],
            output_path=self.of_system(layout.MODEL_OF_DATASET),
            record_path=self.of_system(layout.MODEL_OF_DATASET_RECORD),
            job=self.job("train_encoder"),
        )
        return Path(self.of_system(layout.MODEL_OF_DATASET))

    def search_trained(self) -> dict[str, Any]:
        """Encode queries and corpus with the trained encoder, search and merge; gives the record of the run."""
        record = self.of_system(layout.MODEL_OF_DATASET_RECORD)
        settings = next_to_record(replace(self.encoder, model="", weights="model.safetensors"), record)
        for chunk in (None, *range(self.chunks)):
            self.make(settings, chunk)
        self.find_all(settings)
        return self.record(layout.RUN_RECORD, system=SYSTEM)

    def trained(self) -> dict[str, Any]:
        """The record of the trained encoder."""
        return read_json(self.of_system(layout.MODEL_OF_DATASET_RECORD))
