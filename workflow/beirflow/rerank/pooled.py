"""Cross-encoders that sentence-transformers saved in parts: a model without a head, a Pooling, and a Dense that scores."""

from pathlib import Path
from typing import Any

import torch

from beirflow.computing.pooling import pool
from beirflow.encoders.head import load_head
from beirflow.files.errors import ModelError
from beirflow.models.card import Step
from beirflow.models.card_modules import MODEL_CONFIG, READERS, dense_step
from beirflow.models.model_json import below
from beirflow.rerank.cross_encoder import CrossEncoder
from beirflow.rerank.saved_settings import check_activation, read_optional, saved_modules

NAMES = {"module_input_name": "sentence_embedding", "module_output_name": "scores"}


class PooledCrossEncoder(CrossEncoder):
    """A model that reads a pair, whose tokens are pooled to a vector, from which a layer makes one score."""

    loader = "AutoModel"
    own_modules = ("Pooling", "Dense")
    backbone = "dense"

    def _check_folder(self) -> None:
        """Read the modules, and refuse what is not done here."""
        super()._check_folder()
        check_activation(self.folder, 1)
        self._pooling, self._dense = _steps(self.folder)
        if self._prompt and not self._pooling.settings["include_prompt"]:
            raise ModelError(f"{self.folder} leaves the tokens of its prompt out of the pooling, which is not done here")

    def _check_weights(self, report: dict[str, Any]) -> None:
        """Refuse weights as for other cross-encoders; a pooler that is not asked for may be missing."""
        needed = "pooler" in self._pooling.settings["modes"]
        missing = [name for name in report["missing_keys"] if needed or "pooler." not in name]
        super()._check_weights({**report, "missing_keys": missing})

    def _relevant_label(self) -> int:
        """Load the layer that scores, which has one number."""
        self._head = load_head(self.folder, [self._dense], self.system.weights).to(self.device)
        return 0

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Scores of a batch, of shape (rows, 1)."""
        scores: torch.Tensor = self._head(pool(self._pooling.settings["modes"], self.model(**inputs), inputs["attention_mask"]))
        return scores


def _steps(folder: Path) -> tuple[Step, Step]:
    """Return the pooling of the tokens of a pair, and the layer that scores."""
    places = [below(folder, module["path"]) for module in saved_modules(folder)]
    pooling, dense = (read_optional(folder / place / MODEL_CONFIG) for place in places)
    names = {key: dense.get(key) for key in NAMES}
    if names != NAMES or dense.get("out_features") != 1:
        raise ModelError(
            f"{folder / places[1]} makes {dense.get('out_features')} numbers with {names}; one was expected with {NAMES}"
        )
    return READERS["Pooling"](places[0], pooling), dense_step(places[1], dense)
