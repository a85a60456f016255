"""Read how sentence-transformers' SparseEncoder weighs texts, from its modules."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beirflow.datasets.document_text import Kind
from beirflow.files.errors import ModelError
from beirflow.models.card_files import read_prompts
from beirflow.models.card_modules import transformer_config, transformer_step
from beirflow.models.model_json import MODULES, Module, modules_of, read_json_file
from beirflow.sparse.parts import Part, Parts, check_model, check_tokenizer, weights_in
from beirflow.sparse.settings import SparseSettings

ENCODER = "config_sentence_transformers.json"


def parts_of_sparse_encoder(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """Read the steps by which a SparseEncoder weighs documents and queries.

    Args:
        settings: The system.
        folder: The folder of the SparseEncoder.
        weights: The name of the preferred file of weights.

    Returns:
        The parts, without the settings of the system.

    Raises:
        ModelError: The folder is not complete, or asks for something that is not supported.
    """
    described = read_json_file(folder / ENCODER) if (folder / ENCODER).is_file() else {}
    if described.get("model_type", "SparseEncoder") != "SparseEncoder":
        raise ModelError(f"{folder / ENCODER} says that this is a {described['model_type']}, no SparseEncoder")
    similarity = described.get("similarity_fn_name")
    if similarity not in (None, "dot", "dot_product"):
        raise ModelError(f"{folder / ENCODER} compares texts by {similarity!r}; sparse systems have dot products")
    prompts, open_prompts = read_prompts(described)
    for key, why in open_prompts.items():
        if getattr(settings, key) is None:
            raise ModelError(f"{why}. Set {key} for this system, as in the model's card or paper")
    kinds: tuple[Kind, Kind] = ("documents", "queries")
    parts = (_of_modules(list(modules_of(folder, kind)), folder, weights, kind) for kind in kinds)
    most = described.get("max_active_dims")
    if most is not None and (type(most) is not int or most < 1):
        raise ModelError(f"{folder / ENCODER}: max_active_dims is {most!r}, which is not a number of terms")
    return Parts(*(replace(part, prefix=prompts[kind], most_terms=most) for part, kind in zip(parts, kinds, strict=True)))


def _of_modules(chain: Sequence[Module], folder: Path, weights: str, kind: Kind) -> Part:
    """The part that a chain of modules is, for one kind of text."""
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
    check_model(here)
    read = transformer_step(here, "", kind, "sparse").settings
    if read["lower_case"]:
        raise ModelError(f"{here}: the configuration of its Transformer has do_lower_case; its tokenizer must do that instead")
    pooling = folder / chain[1].place
    pooled = read_json_file(pooling / "config.json")
    return Part(
        "splade",
        here,
        weights_in(here, weights),
        pooling=_allowed(pooling, "pooling_strategy", pooled.get("pooling_strategy", "max"), ("max", "sum")),
        activation=_allowed(pooling, "activation_function", pooled.get("activation_function", "relu"), ("relu", "log1p_relu")),
        max_length=read["max_length"],
    )


def _allowed(folder: Path, key: str, value: Any, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ModelError(f"{folder / 'config.json'} has {key} {value!r}; expected {' or '.join(allowed)}")
    return str(value)


def _table_in(folder: Path, root: Path, weights: str) -> Path:
    """The file of a table of weights: tensors, or a JSON of weights by token."""
    check_tokenizer(folder)
    described = read_json_file(folder / "config.json") if (folder / "config.json").is_file() else {}
    named = described.get("path")
    if named is None:
        return weights_in(folder, weights)[0]
    places = [each / Path(str(named)).name for each in (folder, root)]
    for place in places:
        if place.is_file():
            return place
    raise ModelError(f"{folder / 'config.json'} names the weights {named!r}, which are neither in {folder} nor in {root}")
