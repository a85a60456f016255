"""The form of systems that are trained, as plans ask for it."""

from pathlib import Path
from typing import Any

from beirflow.extensions.genq.problems import training_problem
from beirflow.extensions.genq.settings import Training
from beirflow.families.form import Form
from beirflow.families.system import Setting


class TrainingForm(Form):
    """A training with its settings."""

    rule = "train_encoder"
    spare = 3.0  # the checkpoint has the weights, and two moments of each
    most_documents = Training.documents
    settings: Training

    def problem(self, base: Any) -> Setting | None:
        """Return the setting that prevents the training of an encoder; None if it can be trained."""
        return training_problem(base, self.settings)

    def given_files(self, dataset: str) -> dict[str, Path]:
        """Return the file that holds the queries; none where a model writes them."""
        path = self.settings.added.file(dataset)
        return {"train.generator.path": path} if path else {}
