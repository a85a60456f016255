"""Read how sentence-transformers' SparseEncoder weighs texts, from its modules."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.files.errors import ModelError
from beirflow.models.card import Kind
from beirflow.models.card_files import read_prompts
from beirflow.models.card_modules import transformer_config, transformer_step
from beirflow.models.model_json import MODULES, below, listed_modules, read_json_file
from beirflow.sparse.parts import Part, Parts, check_model, check_tokenizer, weights_in
from beirflow.sparse.settings import SparseSettings

ROUTES, ENCODER = "router_config.json", "config_sentence_transformers.json"

LIBRARY = "sentence_transformers."
"""How the classes of its modules begin; another of the same name is code of the model's own."""


class _Module(NamedTuple):
    """A module of a SparseEncoder: its class without the package, and its folder."""

    name: str
    folder: Path


def parts_of_sparse_encoder(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """How a SparseEncoder weighs documents and queries.

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
    routes: dict[Kind, str] = {"documents": "document", "queries": "query"}
    chains = {kind: list(_chain(folder, route)) for kind, route in routes.items()}
    parts = (_of_modules(chain, folder, weights, kind) for kind, chain in chains.items())
    most = described.get("max_active_dims")
    if most is not None and (type(most) is not int or most < 1):
        raise ModelError(f"{folder / ENCODER}: max_active_dims is {most!r}, which is not a number of terms")
    return Parts(*(replace(part, prefix=prompts[kind], most_terms=most) for part, kind in zip(parts, routes, strict=True)))


def _chain(folder: Path, route: str) -> Iterator[_Module]:
    """The modules of a SparseEncoder that a kind of text goes through."""
    for entry in listed_modules(folder):
        module = _Module(_class(folder, entry["type"]), folder / below(folder, entry["path"]))
        if module.name in ("Router", "Asym"):
            yield from _routed(module.folder, route)
        else:
            yield module


def _routed(folder: Path, route: str) -> Iterator[_Module]:
    path = folder / ROUTES
    if not path.is_file():
        path = folder / "config.json"
    routes = read_json_file(path)
    if not all(isinstance(routes, dict) and isinstance(routes.get(key), dict) for key in ("types", "structure")):
        raise ModelError(f"{path} lacks types and structure, which define the routes")
    if (routes.get("parameters") or {}).get("route_mappings"):
        raise ModelError(f"{path} has route_mappings, which are not supported; expected the routes query and document")
    if route not in routes["structure"]:
        raise ModelError(f"{path} has no route {route!r}, but {', '.join(map(repr, routes['structure']))}")
    for name in routes["structure"][route]:
        yield _Module(_class(folder, routes["types"].get(name)), folder / below(folder, str(name)))


def _class(folder: Path, name: Any) -> str:
    """A class of sentence-transformers without its package, whose parts moved between versions."""
    if not str(name).startswith(LIBRARY):
        raise ModelError(f"{folder} asks for {name}, which is not a module of sentence-transformers and is not known here")
    return str(name).rpartition(".")[2]


def _of_modules(chain: Sequence[_Module], folder: Path, weights: str, kind: Kind) -> Part:
    """The part that a chain of modules is, for one kind of text."""
    names = [module.name for module in chain]
    if names == ["SparseStaticEmbedding"]:
        return Part("table", chain[0].folder, (_table_in(chain[0].folder, folder, weights),))
    if names not in (["MLMTransformer", "SpladePooling"], ["Transformer", "SpladePooling"]):
        expected = "a masked language model with SpladePooling, or a SparseStaticEmbedding"
        raise ModelError(f"{folder / MODULES} has the modules {', '.join(names) or 'none'}; expected {expected}")
    model, pooling = chain
    described = transformer_config(model.folder)
    if described.get("transformer_task", "fill-mask" if model.name == "MLMTransformer" else "feature-extraction") != "fill-mask":
        found = f"{model.folder} is a model for {described.get('transformer_task', 'feature-extraction')!r}"
        raise ModelError(f"{found}; SpladePooling needs the head of a masked language model, for 'fill-mask'")
    check_model(model.folder)
    read = transformer_step(model.folder, "", kind, "sparse").settings
    if read["lower_case"]:
        raise ModelError(
            f"{model.folder}: the configuration of its Transformer has do_lower_case; its tokenizer must do that instead"
        )
    pooled = read_json_file(pooling.folder / "config.json")
    return Part(
        "splade",
        model.folder,
        weights_in(model.folder, weights),
        pooling=_allowed(pooling.folder, "pooling_strategy", pooled.get("pooling_strategy", "max"), ("max", "sum")),
        activation=_allowed(
            pooling.folder, "activation_function", pooled.get("activation_function", "relu"), ("relu", "log1p_relu")
        ),
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
