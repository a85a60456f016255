"""The modules that one kind of text goes through, in the layout of sentence-transformers: routers are resolved."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.datasets.document_text import Kind
from beirflow.files.errors import ModelError
from beirflow.models.model_json import ROUTER_CONFIGS, below, listed_modules, read_object

LIBRARY = "sentence_transformers."
"""Start of the names of its classes; another class of the same name is code of the model's own."""

TASKS: Mapping[Kind, str] = {"queries": "query", "documents": "document"}
"""Name of each kind of text in the library."""


class Module(NamedTuple):
    """A module of a model.

    Attributes:
        type: Its class, with the package.
        place: Its folder below that of the model; empty for that folder itself.
    """

    type: str
    place: str

    @property
    def name(self) -> str:
        """Class without the package, which moved between versions; empty for a class of another library."""
        return self.type.rpartition(".")[2] if self.type.startswith(LIBRARY) else ""


def modules_of(folder: Path, kind: Kind) -> Iterator[Module]:
    """List the modules that one kind of text goes through, with those of a Router's route in its place.

    Raises ModelError for unreadable files, a module outside the folder, or a Router without a route for the kind.
    """
    for entry in listed_modules(folder):
        yield from _resolved(folder, Module(entry["type"], below(folder, entry["path"])), kind)


def _resolved(folder: Path, module: Module, kind: Kind) -> Iterator[Module]:
    """Yield the module itself, or the modules of the route of a Router, or an earlier Asym, for a kind of text."""
    if module.name not in ("Router", "Asym"):
        yield module
        return
    path = next((path for name in ROUTER_CONFIGS if (path := folder / module.place / name).is_file()), None)
    if path is None:
        raise ModelError(f"{folder / module.place} has no {ROUTER_CONFIGS[0]}, which assigns modules to queries and documents")
    config = read_object(path)
    types, structure = config.get("types"), config.get("structure")
    if not isinstance(types, dict) or not isinstance(structure, dict):
        raise ModelError(f"{path} lacks types and structure, which define the routes")
    route = structure.get(_route(config.get("parameters"), structure, TASKS[kind]))
    if not isinstance(route, list) or not all(isinstance(name, str) and name in types for name in route):
        raise ModelError(f"{path} has no route for {kind}; it has {', '.join(structure)}, and {TASKS[kind]!r} was expected")
    prefix = f"{module.place}/" if module.place else ""
    for name in route:
        routed = Module(str(types[name]), below(folder, prefix + name))
        if routed == module:
            raise ModelError(f"{path} names itself as a route")
        yield from _resolved(folder, routed, kind)


def _route(parameters: Any, structure: Mapping[str, Any], task: str) -> str:
    """Return the name of the route that the library chooses for a task on texts."""
    mappings = (parameters.get("route_mappings") if isinstance(parameters, dict) else None) or {}
    keys = [f"('{task}', 'text')", f"('{task}', None)", "(None, 'text')", "(None, None)"]
    return next((str(mappings[key]) for key in keys if key in mappings), task if task in structure else "text")
