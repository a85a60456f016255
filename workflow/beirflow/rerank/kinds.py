"""The kind of a reranker, from the model class in its ``config.json``."""

from pathlib import Path
from typing import Literal

from beirflow.files.errors import ModelError
from beirflow.models.card_modules import MODEL_CONFIG, other_family
from beirflow.models.model_json import read_object
from beirflow.rerank.settings import RerankSettings

Kind = Literal["cross-encoder", "monot5", "qwen3-reranker"]

CLASSIFIER = "ForSequenceClassification"
CLASSES: dict[str, Kind] = {"T5ForConditionalGeneration": "monot5", "Qwen3ForCausalLM": "qwen3-reranker"}
"""Language models, by class; what they are asked is not in their folders, so that each is one known kind of reranker."""

DECODERS = ("Gemma", "Llama", "Mistral", "Phi", "Qwen")
"""How the names of decoders begin; those that give a pair one number were trained with a prompt that their files do not hold."""

EXPECTED = (
    f"a cross-encoder, …{CLASSIFIER}; monoT5, T5ForConditionalGeneration; or Qwen3-Reranker, Qwen3ForCausalLM. What other"
    " language models were trained to be asked, and to answer, is not in their files"
)


def kind_of(folder: Path, settings: RerankSettings) -> Kind:
    """The kind of reranker in a folder.

    Args:
        folder: The folder.
        settings: The system that uses it.

    Returns:
        Its kind.

    Raises:
        ModelError: It is none that is known, or it is told an instruction that it would not read.
    """
    names = read_object(folder / MODEL_CONFIG).get("architectures")
    name = str(names[0]) if isinstance(names, list) and names else "nothing"
    if name.endswith(CLASSIFIER) and name.startswith(DECODERS):
        raise ModelError(
            f"{folder / MODEL_CONFIG} says that the model is {name}: a decoder, which reads pairs in a prompt that its files do"
            " not hold; of Qwen3-Reranker, take the folder of its own authors"
        )
    kind: Kind | None = "cross-encoder" if name.endswith(CLASSIFIER) else CLASSES.get(name)
    if kind is None:
        family = "" if name.endswith(("ForConditionalGeneration", "ForCausalLM")) else other_family(name)
        raise ModelError(f"{folder / MODEL_CONFIG} says that the model is {name}; expected {EXPECTED}{family}")
    if kind != "qwen3-reranker" and (settings.instruction or settings.instructions):
        raise ModelError(f"the model in {folder} is a {kind}, which reads no instruction; remove it")
    return kind
