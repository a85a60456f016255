"""The parts of a sparse model, from its folder: a plain one, or that of a SparseEncoder of sentence-transformers.

Settings of a folder that are not supported are refused, so that no system has other weights than its authors meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.data.document_text import Kind
from beirflow.families.sparse.settings import SparseSettings
from beirflow.models.card import check_open
from beirflow.models.card_files import read_prompts
from beirflow.models.card_modules import (
    check_type,
    refuse_chat_template,
    refuse_type,
    refuse_what_is_not_hashed,
    transformer_config,
    transformer_step,
)
from beirflow.models.model_json import LIBRARY_CONFIG, MODULES, Module, modules_of, read_json_file, read_number, read_optional
from beirflow.models.model_layout import module_weight_files
from beirflow.models.model_places import model_folder, or_by_others, towers

SPARTA_TERMS = 2000

HEAD_SETTINGS = ("pooling", "activation", "most_terms")  # of the head of a masked language model

SPECIAL_TOKENS = 3  # of a document with an expansion: [CLS] before the text, [SEP] between the two and at the end


@dataclass(frozen=True)
class Part:
    """The model that weighs one kind of text, queries or documents, or what weighs it in place of a model."""

    # ``splade``, ``unicoil`` or ``sparta``, by a model; ``table``, by a table of weights; ``tokens``, every token weighs 1; or
    # ``counts``, as often as it occurs
    kind: str
    folder: Path  # of the tokenizer, and of the model or table
    weights: tuple[Path, ...] = ()  # the files that hold weights; none of ``tokens`` and ``counts``
    pooling: str = "max"  # ``max`` or ``sum``, of ``splade``
    activation: str = "relu"  # ``relu`` or ``log1p_relu``, of ``splade``
    max_length: int | None = None  # tokens after which a text is cut; the tokenizer's maximum if None
    prefix: str = ""  # written before every text
    most_terms: int | None = None  # terms kept of a text; None for all
    text_length: int | None = None  # tokens after which a text is cut before its expansion; None without one
    expansion_length: int | None = None  # tokens after which the expansion is cut; None without one


class Parts(NamedTuple):
    """The parts that weigh documents and queries."""

    documents: Part
    queries: Part

    def of(self, kind: str) -> Part:
        """Return the part for ``queries`` or ``documents``."""
        return getattr(self, kind)


def _weights_in(folder: Path, weights: str, root: Path) -> tuple[Path, ...]:
    """Return the files that the weights of a module in ``folder`` are loaded from; ModelError if there is none."""
    if files := module_weight_files(folder, weights, root):
        return tuple(files)
    raise ModelError(f"{folder} has no {weights}; save the model as safetensors, or name its file in 'weights'")


def parts_of_sparse_encoder(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """Read the parts of a SparseEncoder, without the settings of the system; ``weights`` is the preferred file.

    Raises ModelError if the folder is not complete, or asks for something that is not supported.
    """
    check_type(folder, "SparseEncoder")
    check_similarity(folder)
    described = read_optional(folder / LIBRARY_CONFIG)
    prompts, open_prompts = read_prompts(described)
    check_open({key: why for key, why in open_prompts.items() if key not in settings.explicit(*open_prompts)})
    kinds: tuple[Kind, Kind] = ("documents", "queries")
    parts = (_of_modules(list(modules_of(folder, kind)), folder, weights, kind) for kind in kinds)
    most = read_number(folder / LIBRARY_CONFIG, described, "max_active_dims", "terms")
    return Parts(*(replace(part, prefix=prompts[kind], most_terms=most) for part, kind in zip(parts, kinds, strict=True)))


def check_similarity(folder: Path) -> None:
    """Refuse a SparseEncoder whose vectors are compared otherwise than by dot products."""
    similarity = read_optional(folder / LIBRARY_CONFIG).get("similarity_fn_name")
    if similarity not in (None, "dot", "dot_product"):
        raise ModelError(f"{folder / LIBRARY_CONFIG} compares texts by {similarity!r}; sparse systems have dot products")


def _of_modules(chain: Sequence[Module], folder: Path, weights: str, kind: Kind) -> Part:
    """Turn a chain of modules into the part for one kind of text."""
    names = [module.name for module in chain]
    here = folder / chain[0].place if chain else folder
    if names == ["SparseStaticEmbedding"]:
        return Part("table", here, (_table_in(here, folder, weights),))
    if names not in (["MLMTransformer", "SpladePooling"], ["Transformer", "SpladePooling"]):
        types = ", ".join(module.name or module.type for module in chain) or "none"
        expected = "a masked language model with SpladePooling, or a SparseStaticEmbedding, of sentence-transformers"
        raise ModelError(f"{folder / MODULES} has the modules {types} for {kind}; expected {expected}")
    described = transformer_config(here)
    if described.get("transformer_task", "fill-mask" if names[0] == "MLMTransformer" else "feature-extraction") != "fill-mask":
        problem = f"{here} is a model for {described.get('transformer_task', 'feature-extraction')!r}"
        raise ModelError(f"{problem}; SpladePooling needs the head of a masked language model, for 'fill-mask'")
    pooling = folder / chain[1].place
    pooled = read_json_file(pooling / "config.json")
    return Part(
        "splade",
        here,
        _weights_in(here, weights, folder),
        pooling=_allowed(pooling, "pooling_strategy", pooled.get("pooling_strategy", "max"), ("max", "sum")),
        activation=_allowed(pooling, "activation_function", pooled.get("activation_function", "relu"), ("relu", "log1p_relu")),
        max_length=transformer_step(here, "", kind, "sparse").settings["max_length"],
    )


def _allowed(folder: Path, key: str, value: Any, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ModelError(f"{folder / 'config.json'} has {key} {value!r}; expected {' or '.join(allowed)}")
    return str(value)


def _table_in(folder: Path, root: Path, weights: str) -> Path:
    """Return the file of a table of weights: tensors, or a JSON of weights by token."""
    named = read_optional(folder / "config.json").get("path")
    if named is None:
        return _weights_in(folder, weights, root)[0]
    places = [each / Path(str(named)).name for each in (folder, root)]
    for place in places:
        if place.suffix == ".json" and place.is_file():
            return place
    raise ModelError(f"{folder / 'config.json'} names the weights {named!r}, which are neither in {folder} nor in {root}")


def read_parts(settings: SparseSettings) -> Parts:
    """Read the parts of a system; its settings override those of its folders.

    Raises ModelError if a model is not on this machine, not complete, or asks for something that is not supported.
    """
    models = towers(settings)
    folders = [model_folder(model) for model in models]
    with model_errors_of(f"system {settings.name}"), or_by_others(settings):
        documents, queries = _parts(settings, folders[0], settings.weights)
        if len(models) > 1:
            queries = _parts(settings, folders[1], models[1].weights).queries
        elif settings.queries == "tokens":
            kind = "counts" if settings.head == "sparta" else "tokens"
            queries = replace(documents, kind=kind, weights=(), most_terms=None, prefix=queries.prefix)
    both = settings.explicit(*HEAD_SETTINGS)
    lengths = settings.max_length, settings.query_max_length or settings.max_length
    prefixes = settings.document_prefix, settings.query_prefix
    documents, queries = (
        replace(
            part,
            **(both if part.kind in ("splade", "unicoil", "sparta") else {}),
            max_length=part.max_length if length is None else length,
            prefix=part.prefix if prefix is None else prefix,
        )
        for part, length, prefix in zip((documents, queries), lengths, prefixes, strict=True)
    )
    documents = replace(documents, text_length=settings.text_length, expansion_length=settings.expansion_length)
    return Parts(documents, queries)


def _parts(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """Read the parts of one folder, without the settings of the system."""
    if settings.head == "splade" and (folder / MODULES).is_file():
        return parts_of_sparse_encoder(settings, folder, weights)
    refuse_what_is_not_hashed(folder)
    refuse_type(folder)
    if settings.head == "splade":
        refuse_chat_template(folder)
    most = SPARTA_TERMS if settings.head == "sparta" else None
    part = Part(settings.head, folder, _weights_in(folder, weights, folder), most_terms=most)
    # SPARTA's queries are counts of their tokens, which no model reads.
    queries = replace(part, kind="counts", weights=(), most_terms=None) if settings.head == "sparta" else part
    return Parts(part, queries)
