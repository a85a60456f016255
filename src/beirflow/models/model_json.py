"""The JSON files of a model folder, read with limits and never from elsewhere, and the modules of each kind of text."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from beirflow.core.errors import ModelError
from beirflow.core.outside_json import check_file as check_file
from beirflow.core.outside_json import read_json_file as read_json_file
from beirflow.core.outside_json import read_object as read_object
from beirflow.core.outside_json import read_optional as read_optional
from beirflow.data.document_text import Kind

MODULES = "modules.json"
LIBRARY_CONFIG = "config_sentence_transformers.json"
COLBERT = "artifact.metadata"  # JSON file that ColBERT writes with its models

ROUTER_CONFIGS = ("router_config.json", "config.json")
"""Files that describe a Router of sentence-transformers; the second one that of its earlier Asym."""

LIBRARY = "sentence_transformers."  # start of the names of its classes; another class of the same name is code of the model's own
TASKS: Mapping[Kind, str] = {"queries": "query", "documents": "document"}  # name of each kind of text in the library, and in MTEB


def read_number(path: Path, held: Mapping[str, Any], key: str, of: str = "tokens", most: int = 1 << 31) -> int | None:
    """Return a whole number from 1 on among the keys of a file; None if nothing states one, ModelError for anything else."""
    value = held.get(key)
    if value is not None and (type(value) is not int or not 1 <= value <= most):
        raise ModelError(f"{path}: {key} is {value!r}, which is not a number of {of}")
    return value


def architecture_in(config: Mapping[str, Any]) -> str:
    """Return the class of a model by its ``config.json``; empty if it names none."""
    names = config.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else ""


class Module(NamedTuple):
    """A module of a model."""

    type: str  # its class, with the package
    place: str  # its folder below that of the model, with slashes; empty for that folder itself

    @property
    def name(self) -> str:
        """Class without the package, which moved between versions; empty for a class of another library."""
        return self.type.rpartition(".")[2] if self.type.startswith(LIBRARY) else ""


def listed_modules(folder: Path) -> list[Module]:
    """Return the modules in ``modules.json``, none without the file.

    Raises ModelError for any other content, and for a module outside the folder.
    """
    if not (folder / MODULES).is_file():
        return []
    entries = read_json_file(folder / MODULES)
    listed = isinstance(entries, list) and entries
    if not listed or not all(isinstance(entry, dict) and isinstance(entry.get("type"), str) for entry in entries):
        raise ModelError(f"{folder / MODULES} does not hold a list of modules, as sentence-transformers writes it")
    return [Module(entry["type"], below(folder, str(entry.get("path", "")))) for entry in entries]


def below(folder: Path, path: str) -> str:
    """Return the path of a module below the folder of its model, with slashes; empty for the folder itself.

    Raises ModelError for a path that leads elsewhere.
    """
    parts = PurePosixPath(path).parts
    if "\\" in path or ".." in parts or PurePosixPath(path).is_absolute():
        raise ModelError(f"{folder}: the module {path!r} is outside the folder of the model")
    return PurePosixPath(*parts).as_posix() if parts else ""


def modules_of(folder: Path, kind: Kind) -> Iterator[Module]:
    """List the modules that one kind of text goes through, with those of a Router's route in its place.

    Raises ModelError for unreadable files, a module outside the folder, or a Router without a route for the kind.
    """
    for module in listed_modules(folder):
        yield from _resolved(folder, module, kind)


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
