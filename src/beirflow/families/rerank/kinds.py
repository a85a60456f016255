"""The files of a reranker's model: its kind, and the settings that sentence-transformers saves and that change scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from beirflow.core.errors import ModelError
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.card_modules import (
    DENSE,
    MODEL_CONFIG,
    OUTPUTS,
    chat_templates,
    check_type,
    known_settings,
    other_family,
    transformer_config,
)
from beirflow.models.model_json import (
    LIBRARY_CONFIG,
    MODULES,
    Module,
    architecture_in,
    listed_modules,
    read_number,
    read_object,
    read_optional,
)
from beirflow.models.model_places import or_by_others

INCREASING = ("Identity", "Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Softplus", "ELU", "SELU", "CELU", "LeakyReLU")
"""Activations of torch.nn that rank one number as the number itself does, without new ties."""

OF_TWO = ("Identity", "Softmax", "LogSoftmax")  # activations after which two logits have the order of their difference

Kind = Literal["cross-encoder", "pooled-cross-encoder", "logit-score", "monot5", "qwen3-reranker"]

CLASSIFIER, WRITER, LOGIT_SCORE = "ForSequenceClassification", "ForCausalLM", "LogitScore"

TYPE = "CrossEncoder"  # the type of model that sentence-transformers writes for rerankers

STATED: dict[str, Kind] = {"T5ForConditionalGeneration": "monot5", "Qwen3ForCausalLM": "qwen3-reranker"}
"""Language models, by class, whose kind the configuration must state: their files lack the question."""

DECODERS = ("Gemma", "Llama", "Mistral", "Phi", "Qwen")
"""Prefixes of the names of decoders; those that give a pair one number were trained with a prompt, which their files may lack."""

EXPECTED = (
    f"a cross-encoder, …{CLASSIFIER}; …{WRITER} with the module {LOGIT_SCORE} of sentence-transformers; monoT5,"
    " T5ForConditionalGeneration; or Qwen3-Reranker, Qwen3ForCausalLM. What other language models were trained to be asked, and"
    " to answer, is not in their files"
)

FORMATS = ("flat", "structured", "auto")  # of the messages of a chat

RESERVED = {
    *("chat_template", "conversations", "messages", "template", "tools", "documents"),
    *("tokenize", "padding", "truncation", "max_length", "return_tensors", "return_dict", "restore_suffix"),
    *("continue_final_message", "return_assistant_tokens_mask"),
}
"""Variables of a chat template that would do more than that."""


@dataclass(frozen=True)
class Saved:
    """Settings by which sentence-transformers reads pairs with the model in a folder."""

    max_length: int | None = None  # tokens after which a pair is cut; None for those of the tokenizer
    prompt: str = ""  # what comes before every query, or as the message of the system
    message: str | None = None  # format of the messages of a chat, ``flat``, ``structured`` or ``auto``; None for two texts
    variables: Mapping[str, Any] = field(default_factory=dict)  # of the chat template, besides messages and special tokens
    ignored: tuple[str, ...] = ()  # settings in the folder that it does not read there


def saved_settings(folder: Path, kind: Kind) -> Saved:
    """Read the settings of a folder that sentence-transformers 6 reads.

    It does so only of a folder with a list of modules and the type of a cross-encoder. It takes the model in any other folder
    alone for one, and writes pairs into its chat template if there is one.

    Raises ModelError for settings that are not known here.
    """
    if kind in STATED.values():
        return Saved()
    library = read_optional(folder / LIBRARY_CONFIG)
    if not _is_saved(folder):
        ignored = {**library, **transformer_config(folder)}
        names = tuple(name for name in ("default_prompt_name", "max_seq_length") if ignored.get(name) is not None)
        return Saved(message="auto" if chat_templates(folder) else None, ignored=names)
    saved = known_settings(folder, kind)
    modalities = saved.get("modality_config") or {}
    usual = {"method": "forward", "method_output_name": OUTPUTS.get(kind, "last_hidden_state")}
    reads = modalities.get("message", modalities.get("text", usual))
    message = reads.get("format", "auto") if "message" in modalities else None
    if {**reads, **usual} != reads or message not in (None, *FORMATS):
        raise ModelError(f"{folder}: its Transformer takes pairs by {reads}, which beirflow does not know")
    length = read_number(folder, saved, "max_seq_length")
    return Saved(length, _default_prompt(folder, library), message, _variables(folder, saved.get("processing_kwargs") or {}))


def _is_saved(folder: Path) -> bool:
    """Test whether sentence-transformers reads its own files in a folder as those of a cross-encoder."""
    return (folder / MODULES).is_file() and read_optional(folder / LIBRARY_CONFIG).get("model_type") == TYPE


def _variables(folder: Path, processing: Any) -> dict[str, Any]:
    """Return the variables of a chat template besides the messages and the special tokens."""
    variables = processing.get("chat_template", {}) if isinstance(processing, dict) else {"": processing}
    plain = all(isinstance(value, str | bool | int | float | None) for value in variables.values())
    if not isinstance(processing, dict) or processing.keys() - {"chat_template"} or variables.keys() & RESERVED or not plain:
        problem = f"the configuration of its Transformer has processing_kwargs {processing}"
        raise ModelError(f"{folder}: {problem}, which are not done here")
    return variables


def _default_prompt(folder: Path, library: Mapping[str, Any]) -> str:
    """Return the prompt that comes before every query; empty without one."""
    name, prompts = library.get("default_prompt_name"), library.get("prompts") or {}
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
    for path, name in activations(folder):
        if not str(name).startswith("torch.") or str(name).rpartition(".")[2] not in known:
            raise ModelError(
                f"{path} has the activation {name}, after which pairs may have another order than by the logits, which are the"
                f" scores here; known are {', '.join(known)} of torch.nn. To rank by logits, name torch.nn.Identity in a copy"
            )


def activations(folder: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the activations that a folder names, each with its file: versions of sentence-transformers have three places."""
    config, library = folder / MODEL_CONFIG, folder / LIBRARY_CONFIG
    nested = read_optional(config).get("sentence_transformers")
    named = (
        (config, read_optional(config).get("sbert_ce_default_activation_function")),
        (config, nested.get("activation_fn") if isinstance(nested, dict) else None),
        (library, read_optional(library).get("activation_fn")),
    )
    return ((path, name) for path, name in named if name is not None)


def saved_modules(folder: Path) -> list[Module]:
    """Return the modules behind the model itself that sentence-transformers would run.

    Raises ModelError if the list cannot be read, or the model itself is in another folder.
    """
    own, *others = listed_modules(folder) or [Module("", "")]
    if own.place:
        raise ModelError(f"{folder / MODULES} has the model in {own.place}, and not next to it, where rerankers are read")
    return others


def kind_of(folder: Path, settings: RerankSettings) -> Kind:
    """Return the kind of reranker in a folder.

    Raises ModelError if the kind is unknown, neither files nor configuration state it, they contradict each other, or an
    instruction would not be read.
    """
    with or_by_others(settings):
        kind = _kind(folder, settings.kind)
        if (folder / MODULES).is_file() and kind not in STATED.values():
            check_type(folder, TYPE, *((None, DENSE) if kind == "cross-encoder" else ()))
        reads = kind == "qwen3-reranker" or saved_settings(folder, kind).message
    if not reads and (settings.instruction or settings.instructions):
        raise ModelError(f"the model in {folder} is a {kind}, which reads no instruction; remove it")
    return kind


def _kind(folder: Path, configured: str | None) -> Kind:
    name = architecture_in(read_object(folder / MODEL_CONFIG)) or "nothing"
    says = f"{folder / MODEL_CONFIG} says that the model is {name}"
    if of_files := _of_files(folder, name, says):
        if configured:
            raise ModelError(f"{says}, a {of_files} by its files, but 'kind' is {configured}; remove 'kind'")
        return of_files
    kind = STATED.get(name)
    if kind is None:
        family = "" if name.endswith(("ForConditionalGeneration", WRITER)) else other_family(name)
        raise ModelError(f"{says}; expected {EXPECTED}{family}")
    if configured != kind:
        problem = f"'kind' is {configured}" if configured else "its files do not say what it is asked and answers"
        raise ModelError(
            f"{says}, but {problem}. If it was trained as {kind} was, say so: 'kind: {kind}'; otherwise take another model"
        )
    return kind


def _of_files(folder: Path, name: str, says: str) -> Kind | None:
    """Return the kind that the files alone state; None if they do not."""
    modules = [module.type.rpartition(".")[2] for module in saved_modules(folder)]
    if name.endswith(CLASSIFIER):
        if name.startswith(DECODERS) and not _is_saved(folder) and not chat_templates(folder):
            raise ModelError(
                f"{says}: a decoder, which reads pairs in a prompt that its files do not hold; of Qwen3-Reranker, take the folder"
                " of its own authors"
            )
        return "cross-encoder"
    if modules[:1] == ["Pooling"]:
        return "pooled-cross-encoder"
    return "logit-score" if LOGIT_SCORE in modules and name.endswith(WRITER) else None
