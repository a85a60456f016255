"""Rerankers that sentence-transformers itself computes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.extensions.sentence_transformers.model import LibraryModel
from beirflow.families.rerank.kinds import CLASSIFIER, DECODERS, INCREASING, TYPE, activations
from beirflow.models.card_modules import ACTIVATIONS, MODEL_CONFIG
from beirflow.models.model_json import architecture_in, read_optional

UNNAMED = ("label_0", "label_1")  # labels of a classifier that names none


class LibraryPairs(LibraryModel):
    """A CrossEncoder: a score is its logit, or what its activation makes of it where that may change the order of pairs."""

    family = "rerank"
    library_class = TYPE
    bare = (CLASSIFIER,)
    prefixes = ()

    @classmethod
    def check_use(cls, folder: Path) -> None:
        """Refuse an activation of which the library would import what it names, and a classifier that gives no single score."""
        for path, name in activations(folder):
            if not str(name).startswith("torch.nn.modules.activation.") or str(name).rpartition(".")[2] not in ACTIVATIONS:
                raise ModelError(f"{path} has the activation {name}; known are those of torch.nn: {', '.join(ACTIVATIONS)}")

        config = read_optional(folder / MODEL_CONFIG)
        labels = config.get("id2label") or UNNAMED
        if architecture_in(config).endswith(CLASSIFIER) and len(labels) != 1:
            raise ModelError(f"the model in {folder} has {len(labels)} labels; a score is one number")

    @classmethod
    def _takes(cls, architecture: str) -> bool:
        """Test whether the model alone is read; decoders were trained with a prompt, which their files may lack."""
        return super()._takes(architecture) and not architecture.startswith(DECODERS)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Score n pairs of a query and a document, float32 of shape (n,). Raises ModelError if a score is not finite."""
        scores = np.concatenate([np.empty(0, np.float32), *self.results(pairs, "documents")])
        wrong = np.flatnonzero(~np.isfinite(scores))
        if len(wrong):
            query, document = (text[:60] for text in pairs[int(wrong[0])])
            raise ModelError(f"the score of {query!r} and {document!r} is infinity or not-a-number")
        return scores

    def counts(self) -> dict[str, int]:
        """Return nothing: tokens are unknown."""
        return {}

    def _compute(self, inputs: list[tuple[str, str]], kind: Kind) -> np.ndarray:
        from torch.nn import Identity

        # A Sigmoid, which is the default, has ties.
        activation = Identity() if type(self._model.activation_fn).__name__ in INCREASING else None
        scores: np.ndarray = self._model.predict(
            inputs, batch_size=self._batch_texts, show_progress_bar=False, activation_fn=activation
        )
        return scores

    def _rows(self, inputs: list[tuple[str, str]], kind: Kind) -> np.ndarray:
        scores = self._compute(inputs, kind)
        return np.stack([scores, np.ones_like(scores)], axis=1)  # a change of a small score is not measured over it alone
