"""The files of a reranker's model: its kind, and the settings that sentence-transformers saves and that change scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from beirflow.core.errors import ModelError
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.card_modules import DENSE, MODEL_CONFIG, check_type, other_family, refuse_chat_template, transformer_config
from beirflow.models.model_json import (
    LIBRARY_CONFIG,
    MODULES,
    Module,
    architecture_in,
    listed_modules,
    read_object,
    read_optional,
)

INCREASING = ("Identity", "Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Softplus", "ELU", "SELU", "CELU", "LeakyReLU")
"""Activations of torch.nn that rank one number as the number itself does, without new ties."""

OF_TWO = ("Identity", "Softmax", "LogSoftmax")  # activations after which two logits have the order of their difference

Kind = Literal["cross-encoder", "pooled-cross-encoder", "logit-score", "monot5", "qwen3-reranker"]

CLASSIFIER, WRITER, LOGIT_SCORE = "ForSequenceClassification", "ForCausalLM", "LogitScore"

TYPE = "CrossEncoder"  # the type of model that sentence-transformers writes beside rerankers

POOLED = ["Pooling", "Dense"]  # modules behind a model without a head that make a score of a pair

STATED: dict[str, Kind] = {"T5ForConditionalGeneration": "monot5", "Qwen3ForCausalLM": "qwen3-reranker"}
"""Language models, by class, whose kind the configuration must state: their files lack the question."""

READ_INSTRUCTIONS = ("logit-score", "qwen3-reranker")

DECODERS = ("Gemma", "Llama", "Mistral", "Phi", "Qwen")
"""Prefixes of the names of decoders; those that give a pair one number were trained with a prompt that their files lack."""

EXPECTED = (
    f"a cross-encoder, …{CLASSIFIER}; …{WRITER} with the module {LOGIT_SCORE} of sentence-transformers; monoT5,"
    " T5ForConditionalGeneration; or Qwen3-Reranker, Qwen3ForCausalLM. What other language models were trained to be asked, and"
    " to answer, is not in their files"
)


def default_prompt(folder: Path) -> str:
    """Return the default prompt in a folder, which sentence-transformers writes before every query; empty without one.

    Raises ModelError if the folder has no prompt of that name.
    """
    saved = read_optional(folder / LIBRARY_CONFIG)
    name, prompts = saved.get("default_prompt_name"), saved.get("prompts") or {}
    prompt = "" if name is None else prompts.get(name) if isinstance(prompts, dict) else None
    if not isinstance(prompt, str):
        raise ModelError(
            f"{folder / LIBRARY_CONFIG} names {name!r} as its default prompt, which it does not have; add or remove it"
        )
    return prompt


def check_activation(folder: Path, labels: int) -> None:
    """Refuse an activation that orders pairs, of 1 or 2 logits each, otherwise than their raw logits.

    Raises ModelError if the folder names such an activation, or one of its own.
    """
    known = INCREASING if labels == 1 else OF_TWO
    for path, name in _activations(folder):
        if not str(name).startswith("torch.") or str(name).rpartition(".")[2] not in known:
            raise ModelError(
                f"{path} has the activation {name}, after which pairs may have another order than by the logits, which are the"
                f" scores here; known are {', '.join(known)} of torch.nn. To rank by logits, name torch.nn.Identity in a copy"
            )


def _activations(folder: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the activations that a folder names, each with its file: versions of sentence-transformers have three places."""
    config = read_optional(folder / MODEL_CONFIG)
    nested = config.get("sentence_transformers")
    of_config = (
        config.get("sbert_ce_default_activation_function"),
        nested.get("activation_fn") if isinstance(nested, dict) else None,
    )
    yield from ((folder / MODEL_CONFIG, name) for name in of_config if name is not None)
    if (name := read_optional(folder / LIBRARY_CONFIG).get("activation_fn")) is not None:
        yield folder / LIBRARY_CONFIG, name


def saved_modules(folder: Path) -> list[Module]:
    """Return the modules behind the model itself that sentence-transformers would run.

    Raises ModelError if the list cannot be read, or the model itself is in another folder.
    """
    own, *others = listed_modules(folder) or [Module("", "")]
    if own.place:
        raise ModelError(f"{folder / MODULES} has the model in {own.place}, and not beside it, where rerankers are read")
    return others


def kind_of(folder: Path, settings: RerankSettings) -> Kind:
    """Return the kind of reranker in a folder.

    Raises ModelError if the kind is unknown, neither files nor configuration state it, they contradict each other, or an
    instruction would not be read.
    """
    kind = _kind(folder, settings.kind)
    if kind not in STATED.values():
        _check_type(folder, kind)
    if kind not in READ_INSTRUCTIONS and (settings.instruction or settings.instructions):
        raise ModelError(f"the model in {folder} is a {kind}, which reads no instruction; remove it")
    return kind


def _check_type(folder: Path, kind: Kind) -> None:
    """Refuse a folder with files that sentence-transformers reads only of a cross-encoder, if its type is not stated.

    It then takes the model in the folder alone for a cross-encoder; so it does without the list of modules.
    """
    if (folder / MODULES).is_file():
        length = transformer_config(folder).get("max_seq_length")
        others = () if kind != "cross-encoder" or length is not None or default_prompt(folder) else (None, DENSE)
        check_type(folder, TYPE, *others)
    if read_optional(folder / LIBRARY_CONFIG).get("model_type") != TYPE or not (folder / MODULES).is_file():
        refuse_chat_template(folder)


def _kind(folder: Path, stated: str | None) -> Kind:
    name = architecture_in(read_object(folder / MODEL_CONFIG)) or "nothing"
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
    """Return the kind that the files alone state; None if they do not."""
    if name.endswith(CLASSIFIER) and name.startswith(DECODERS):
        raise ModelError(
            f"{says}: a decoder, which reads pairs in a prompt that its files do not hold; of Qwen3-Reranker, take the folder of"
            " its own authors"
        )
    if name.endswith(CLASSIFIER):
        return "cross-encoder"
    modules = [module.type.rpartition(".")[2] for module in saved_modules(folder)]
    if modules == POOLED:
        return "pooled-cross-encoder"
    return "logit-score" if LOGIT_SCORE in modules and name.endswith(WRITER) else None
