"""The form of systems that are trained, as plans ask for it."""

from pathlib import Path
from typing import Any

from beirflow.extensions.genq.problems import training_problem
from beirflow.extensions.genq.settings import Training
from beirflow.families.family import Stage
from beirflow.families.form import Form
from beirflow.families.system import Setting


class TrainingForm(Form):
    """A training with its settings."""

    stage = Stage("train_encoder", word=4e-3)
    spare = 3.0  # the checkpoint has the weights, and two moments of each
    most_documents = Training.documents
    settings: Training

    @property
    def documents(self) -> int:
        """Most documents that queries are written for."""
        return self.settings.documents

    def problem(self, base: Any) -> Setting | None:
        """Return the setting that prevents the training of an encoder; None if it can be trained."""
        return training_problem(base, self.settings)

    def given_files(self, dataset: str) -> dict[str, Path]:
        """Return the file that holds the queries; none where a model writes them."""
        path = self.settings.added.file(dataset)
        return {"train.generator.path": path} if path else {}

    def work(self, documents: int) -> dict[str, float]:
        """Return the pairs that are written, and those that the encoder is trained on."""
        pairs = min(self.documents, documents) * self.settings.queries
        return {"expand": pairs, "train": pairs * self.settings.epochs}
