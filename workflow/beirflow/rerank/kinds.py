"""The kind of a reranker, from the model class in its ``config.json``, the modules beside it, and the configuration."""

from pathlib import Path
from typing import Literal

from beirflow.files.errors import ModelError
from beirflow.models.card_modules import MODEL_CONFIG, other_family
from beirflow.models.model_json import read_object
from beirflow.rerank.saved_settings import saved_modules
from beirflow.rerank.settings import RerankSettings

Kind = Literal["cross-encoder", "pooled-cross-encoder", "logit-score", "monot5", "qwen3-reranker"]

CLASSIFIER, WRITER, LOGIT_SCORE = "ForSequenceClassification", "ForCausalLM", "LogitScore"
POOLED = ["Pooling", "Dense"]
"""Modules behind a model without a head that make a score of a pair."""

STATED: dict[str, Kind] = {"T5ForConditionalGeneration": "monot5", "Qwen3ForCausalLM": "qwen3-reranker"}
"""Language models, by class, whose kind the configuration must state: their files do not hold what they are asked."""

READ_INSTRUCTIONS = ("logit-score", "qwen3-reranker")

DECODERS = ("Gemma", "Llama", "Mistral", "Phi", "Qwen")
"""Prefixes of the names of decoders; those that give a pair one number were trained with a prompt that their files lack."""

EXPECTED = (
    f"a cross-encoder, …{CLASSIFIER}; …{WRITER} with the module {LOGIT_SCORE} of sentence-transformers; monoT5,"
    " T5ForConditionalGeneration; or Qwen3-Reranker, Qwen3ForCausalLM. What other language models were trained to be asked, and"
    " to answer, is not in their files"
)


def kind_of(folder: Path, settings: RerankSettings) -> Kind:
    """Return the kind of reranker in a folder.

    Args:
        folder: The folder.
        settings: The system that uses it.

    Returns:
        Its kind.

    Raises:
        ModelError: It is none that is known, neither its files nor the configuration say which, they contradict each other, or it
            is told an instruction that it would not read.
    """
    kind = _kind(folder, settings.kind)
    if kind not in READ_INSTRUCTIONS and (settings.instruction or settings.instructions):
        raise ModelError(f"the model in {folder} is a {kind}, which reads no instruction; remove it")
    return kind


def _kind(folder: Path, stated: str | None) -> Kind:
    names = read_object(folder / MODEL_CONFIG).get("architectures")
    name = str(names[0]) if isinstance(names, list) and names else "nothing"
    says = f"{folder / MODEL_CONFIG} says that the model is {name}"
    if of_files := _of_files(folder, name, says):
        if stated:
            raise ModelError(f"{says}, a {of_files} by its files, but 'kind' is {stated}; remove 'kind'")
        return of_files
    kind = STATED.get(name)
    if kind is None:
        family = "" if name.endswith(("ForConditionalGeneration", WRITER)) else other_family(name)
        raise ModelError(f"{says}; expected {EXPECTED}{family}")
    if stated != kind:
        problem = f"'kind' is {stated}" if stated else "its files do not say what it is asked and answers"
        raise ModelError(
            f"{says}, but {problem}. If it was trained as {kind} was, say so: 'kind: {kind}'; otherwise take another model"
        )
    return kind


def _of_files(folder: Path, name: str, says: str) -> Kind | None:
    """The kind that the files alone say; None if they do not."""
    if name.endswith(CLASSIFIER) and name.startswith(DECODERS):
        raise ModelError(
            f"{says}: a decoder, which reads pairs in a prompt that its files do not hold; of Qwen3-Reranker, take the folder of"
            " its own authors"
        )
    if name.endswith(CLASSIFIER):
        return "cross-encoder"
    modules = [module["type"].rpartition(".")[2] for module in saved_modules(folder)]
    if modules == POOLED:
        return "pooled-cross-encoder"
    return "logit-score" if LOGIT_SCORE in modules and name.endswith(WRITER) else None
