"""Read from a model folder how texts are weighed: plain folders, and those of sentence-transformers' SparseEncoder.

What a folder asks for and is not understood here is refused, so that no system has other weights than its authors meant.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.files.errors import ModelError
from beirflow.models.card import Kind
from beirflow.models.card_files import read_prompts
from beirflow.models.card_modules import refuse_type, refuse_what_is_not_hashed, transformer_config, transformer_step
from beirflow.models.model_json import listed_modules
from beirflow.models.model_layout import PATTERNS, TOKENIZER_FILES, weight_files
from beirflow.sparse.settings import USUAL_LENGTHS, SparseSettings

MODULES, ROUTES, ENCODER = "modules.json", "router_config.json", "config_sentence_transformers.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
SPARTA_TERMS = 2000

LIBRARY = "sentence_transformers."
"""How the classes of its modules begin; another of the same name is code of the model's own."""

AROUND = 3
"""Special tokens of a document with an expansion: before the text, behind it, and at the end."""


@dataclass(frozen=True)
class Part:
    """How one kind of text, queries or documents, is weighed.

    Attributes:
        kind: ``splade``, ``unicoil`` or ``sparta``, by a model; ``table``, by a table of weights; ``tokens``, every token weighs
            1; or ``counts``, as often as it occurs.
        folder: Of the tokenizer, and of the model or table.
        weights: The files that hold weights; none of ``tokens`` and ``counts``.
        pooling: ``max`` or ``sum``, of ``splade``.
        activation: ``relu`` or ``log1p_relu``, of ``splade``.
        max_length: Tokens after which a text is cut; what the tokenizer says if None.
        prefix: What is written before every text.
        most_terms: Terms kept of a text; None for all.
        text_length: Tokens after which a text is cut before what is added to it; None where nothing is.
        expansion_length: Tokens after which that is cut; None where nothing is added.
    """

    kind: str
    folder: Path
    weights: tuple[Path, ...] = ()
    pooling: str = "max"
    activation: str = "relu"
    max_length: int | None = None
    prefix: str = ""
    most_terms: int | None = None
    text_length: int | None = None
    expansion_length: int | None = None


class Parts(NamedTuple):
    """How documents and queries are weighed."""

    documents: Part
    queries: Part

    def of(self, kind: str) -> Part:
        """The part for ``queries`` or ``documents``."""
        return self.queries if kind == "queries" else self.documents


class _Module(NamedTuple):
    """A module of a SparseEncoder: its class without the package, and its folder."""

    name: str
    folder: Path


def read_parts(settings: SparseSettings, folder: Path, query_folder: Path | None) -> Parts:
    """How a system weighs its texts.

    Args:
        settings: The system; what it says goes before what the folder says.
        folder: Of the model.
        query_folder: Of the queries' own model, or None.

    Returns:
        The parts.

    Raises:
        ModelError: The folder is not complete, or asks for something that is not understood.
    """
    try:
        documents, queries = _parts(settings, folder, settings.weights)
        if query_folder:
            queries = _parts(settings, query_folder, settings.query_weights).queries
        elif settings.queries == "tokens":
            kind = "counts" if settings.head == "sparta" else "tokens"
            queries = replace(documents, kind=kind, weights=(), most_terms=None, prefix=queries.prefix)
    except ModelError as error:
        raise ModelError(f"system {settings.name}: {error}") from error
    both = {key: value for key in ("pooling", "activation", "most_terms") if (value := getattr(settings, key)) is not None}
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
    added = {key: getattr(settings, key) for key in USUAL_LENGTHS}
    return Parts(replace(documents, **added), queries)


def files_of(folder: Path, parts: Sequence[Part]) -> list[Path]:
    """The files below a folder that make a model what it is: descriptions, tokenizers and weights."""
    parts = [part for part in parts if part.folder.is_relative_to(folder)]
    described = {path for each in (folder, *(folder.glob("*/"))) for pattern in PATTERNS for path in each.glob(pattern)}
    used = {path for part in parts for pattern in PATTERNS for path in part.folder.glob(pattern)}
    return sorted(described | used | {path for part in parts for path in part.weights})


def _parts(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """The parts of one folder, without what the settings say."""
    if settings.head == "splade" and (folder / MODULES).is_file():
        return _of_sparse_encoder(settings, folder, weights)
    _check_model(folder)
    most = SPARTA_TERMS if settings.head == "sparta" else None
    part = Part(settings.head, folder, _weights_in(folder, weights), most_terms=most)
    queries = replace(part, kind="counts", weights=(), most_terms=None) if settings.head == "sparta" else part
    return Parts(part, queries)


def _of_sparse_encoder(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """The parts of a SparseEncoder of sentence-transformers."""
    described = _read(folder / ENCODER) if (folder / ENCODER).is_file() else {}
    if described.get("model_type", "SparseEncoder") != "SparseEncoder":
        raise ModelError(f"{folder / ENCODER} says that this is a {described['model_type']}, no SparseEncoder")
    similarity = described.get("similarity_fn_name")
    if similarity not in (None, "dot", "dot_product"):
        raise ModelError(f"{folder / ENCODER} compares texts by {similarity!r}; sparse systems have dot products")
    prompts, open_prompts = read_prompts(described)
    for key, why in open_prompts.items():
        if getattr(settings, key) is None:
            raise ModelError(f"{why}. Say {key} of this system, as the card or the paper of the model has it")
    routes: dict[Kind, str] = {"documents": "document", "queries": "query"}
    chains = {kind: list(_chain(folder, route)) for kind, route in routes.items()}
    parts = (_of_modules(chain, folder, weights, kind) for kind, chain in chains.items())
    most = described.get("max_active_dims")
    if most is not None and (type(most) is not int or most < 1):
        raise ModelError(f"{folder / ENCODER}: max_active_dims is {most!r}, which is no number of terms")
    return Parts(*(replace(part, prefix=prompts[kind], most_terms=most) for part, kind in zip(parts, routes, strict=True)))


def _chain(folder: Path, route: str) -> Iterator[_Module]:
    """The modules of a SparseEncoder that a kind of text goes through."""
    for entry in listed_modules(folder):
        module = _Module(_class(folder, entry["type"]), _inside(folder, entry["path"]))
        if module.name in ("Router", "Asym"):
            yield from _routed(module.folder, route)
        else:
            yield module


def _routed(folder: Path, route: str) -> Iterator[_Module]:
    path = folder / ROUTES
    if not path.is_file():
        path = folder / "config.json"
    routes = _read(path)
    if not all(isinstance(routes, dict) and isinstance(routes.get(key), dict) for key in ("types", "structure")):
        raise ModelError(f"{path} lacks types and structure, which say what the routes are")
    if (routes.get("parameters") or {}).get("route_mappings"):
        raise ModelError(f"{path} has route_mappings, which are not understood here; expected the routes query and document")
    if route not in routes["structure"]:
        raise ModelError(f"{path} has no route {route!r}, but {', '.join(map(repr, routes['structure']))}")
    for name in routes["structure"][route]:
        yield _Module(_class(folder, routes["types"][name]), _inside(folder, name))


def _class(folder: Path, name: Any) -> str:
    """A class of sentence-transformers without its package, whose parts moved between versions."""
    if not str(name).startswith(LIBRARY):
        raise ModelError(f"{folder} asks for {name}, which is none of sentence-transformers' modules and not known here")
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
    _check_model(model.folder)
    read = transformer_step(model.folder, "", kind, "sparse").settings
    if read["lower_case"]:
        raise ModelError(f"{model.folder}: the configuration of its Transformer has do_lower_case, which its tokenizer has to do")
    pooled = _read(pooling.folder / "config.json")
    return Part(
        "splade",
        model.folder,
        _weights_in(model.folder, weights),
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
    _check_tokenizer(folder)
    described = _read(folder / "config.json") if (folder / "config.json").is_file() else {}
    named = described.get("path")
    if named is None:
        return _weights_in(folder, weights)[0]
    places = [_inside(each, Path(str(named)).name) for each in (folder, root)]
    for place in places:
        if place.is_file():
            return place
    raise ModelError(f"{folder / 'config.json'} names the weights {named!r}, which are neither in {folder} nor in {root}")


def _weights_in(folder: Path, weights: str) -> tuple[Path, ...]:
    """The file with the weights, or its parts where an index names several; another format where that is all there is."""
    for name in dict.fromkeys((weights, *WEIGHTS)):
        if found := weight_files(folder, name):
            return tuple(found)
    raise ModelError(f"{folder} has no {weights}; save the model as safetensors, or name its file in 'weights'")


def _check_model(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} has no config.json, so it is not a model folder")
    refuse_what_is_not_hashed(folder)
    refuse_type(folder)
    _check_tokenizer(folder)


def _check_tokenizer(folder: Path) -> None:
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        todo = "as tokenizer.save_pretrained writes"
        raise ModelError(f"{folder} has no tokenizer; one of {', '.join(TOKENIZER_FILES)} was expected, {todo}")


def _read(path: Path) -> Any:
    """What a JSON file of the model's folder holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{path} is missing") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({error})") from error


def _inside(folder: Path, name: Any) -> Path:
    """A folder or file below another, whatever the file says that names it."""
    path = Path(str(name))
    if path.is_absolute() or ".." in path.parts:
        raise ModelError(f"{folder} has a module in {str(name)!r}, which is not below it")
    return folder / path
