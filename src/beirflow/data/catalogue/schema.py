"""JSON Schema checks whose messages name the key, the value found, the allowed values, and the nearest name."""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, TypeChecker, ValidationError, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from beirflow import WORKFLOW
from beirflow.core.addresses import shown, without_credentials
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import with_extensions

SCHEMAS = WORKFLOW / "schemas"
ENDING = ".schema.yaml"  # of their names

NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]+)?")  # a number as people type it; one with a point is no integer

LEAST_LARGE = 10**18  # from here on, numbers have more digits than NUMBER

LAST_NUMBER = re.compile(r"\.\d+$")

CATALOGUE = SCHEMAS.with_name("catalogue")

FAST_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C where PyYAML has it: every job of a cluster reads all files of the catalogue."""

MISSING = object()  # in place of the value of a key that is not there
NO_SUCH_KEY = "no such key here"  # which says all of a key
MOST_NAMES = 12  # most names in a message; of more, it has the first, behind the nearest

KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "keys with values",
    "null": "null",
}
"""Types of JSON Schema in the words of the configuration."""

LIMITS = {
    "minimum": "expected at least {}",
    "exclusiveMinimum": "expected more than {}",
    "maximum": "expected at most {}",
    "minLength": "expected a text that is not empty",
    "minItems": "expected at least one entry",
    "minProperties": "expected at least one key",
    "uniqueItems": "an entry stands twice; remove one",
    "const": "expected {!r}",
}
"""Messages by keyword of JSON Schema, with its value."""


def _is_integer(_: TypeChecker, value: object) -> bool:
    """Refuse 10.0, which JSON Schema takes for an integer, but NDCG@10.0 is no measure; and what no file can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LEAST_LARGE


def _is_number(_: TypeChecker, value: object) -> bool:
    """Refuse YAML's .nan, which is above no minimum and below none, so that no limit would refuse it, and .inf."""
    return math.isfinite(value) if isinstance(value, float) else _is_integer(_, value)


_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
_Validator: Any = validators.extend(Draft202012Validator, type_checker=_TYPES)  # type: ignore[no-untyped-call]


@dataclass
class Problems:
    """Mistakes in a configuration or a catalogue file."""

    lines: list[str] = field(default_factory=list)  # a line for each
    keys: list[str] = field(default_factory=list)  # the path of the key of each
    # by path of a system that is one of several that an entry defines, the path of the entry, which problems name
    entries: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, found: Any, allowed: str) -> None:
        """Note a problem: the path of the key, the value found, but for secrets, and what would be allowed."""
        origin = next((each for each in self.entries if key.startswith(f"{each}.")), "")
        key = self.entries.get(origin, "") + key.removeprefix(origin)
        start = "missing; " if found is MISSING else f"found {'nothing' if found is None else repr(shown(found))}; "
        # Of an entry of a list, without its number: a single value may stand for a list of one.
        start = f"{LAST_NUMBER.sub('', key)}: {start}"
        line = start + without_credentials(allowed)
        # Of a dataset, and again of each of its forums; or of each system of an entry, whose names the lines may have.
        said = start if origin else f"{start}{NO_SUCH_KEY}"
        if not any(each.startswith((line, said)) for each in self.lines):
            self.lines.append(line)
            self.keys.append(key)

    def extend(self, others: "Problems") -> None:
        """Add problems that were noted elsewhere."""
        self.lines += others.lines
        self.keys += others.keys

    def raise_if_any(self, where: str, places: Mapping[str, str] | None = None) -> None:
        """Raise all the problems at once as a ConfigError.

        ``where`` is what was checked, for the first line of its message; ``places`` has the file and line of keys, by their path.
        """
        if self.lines:
            lines = [f"{line}{self._place(place, places or {})}" for place, line in enumerate(self.lines)]
            raise ConfigError("\n  ".join([f"{where} cannot be used:", *lines]))

    def _place(self, number: int, places: Mapping[str, str]) -> str:
        """Return the place of the key of a problem, or of the nearest key above it; empty if it is in no file."""
        key = self.keys[number] if number < len(self.keys) else ""
        while key and key not in places:
            key = key.rpartition(".")[0]
        return f" ({places[key]})" if key else ""


def nearest(name: object, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` if ``name`` looks like a typo of an allowed name, in whichever case, or a part of one."""
    by_lower = {each.lower(): each for each in allowed}
    low = str(name).lower()
    matches = [each for each in by_lower if low and each.startswith(low)]
    matches = matches or [each for each in by_lower if len(low) > 3 and low in each]
    # The first letter is rarely the wrong one: gpu is no typo of cpu.
    matches = matches or difflib.get_close_matches(low, [each for each in by_lower if each[:1] == low[:1]], n=1)
    return f"; did you mean {by_lower[matches[0]]!r}?" if matches else ""


def choices(value: object, allowed: Iterable[str]) -> str:
    """Return the allowed names, with the nearest one; of many, that one first and then only some."""
    names = list(allowed)
    if len(names) <= MOST_NAMES:
        return f"allowed are {', '.join(names)}{nearest(value, names)}"
    guess = nearest(value, names).removeprefix("; ")
    return f"{guess}{' ' if guess else ''}allowed are {', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} others"


def problems_with(value: Any, schema: str) -> Problems:
    """Return the problems of a value with the schema of this name, in the order of the keys."""
    problems = Problems()
    for error in sorted(_validator(schema).iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path]):
        # An error of alternatives such as oneOf says less than the errors of each.
        alternatives: dict[str, tuple[Any, list[str]]] = {}
        for inner in error.context or [error]:
            for key, given, allowed in _explain(inner):
                alternatives.setdefault(key, (given, []))[1].append(allowed) if error.context else problems.add(
                    key, given, allowed
                )
        for key, (given, each) in alternatives.items():
            first, *others = dict.fromkeys(each)
            problems.add(key, given, " or ".join([first, *(other.removeprefix("expected ") for other in others)]))
    return problems


def defaults(schema: str) -> dict[str, Any]:
    """Return the default of each top-level key of a schema that has one."""
    return {key: entry["default"] for key, entry in _schema(schema)["properties"].items() if "default" in entry}


def keys_of(schema: str) -> Set[str]:
    """Return the top-level keys of a schema."""
    return frozenset(_schema(schema)["properties"])


def with_types(config: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """Return a configuration in which what ``--config`` said has the types of a file: Snakemake hands on words.

    It has booleans and numbers where the schema has such, and a list where it has one: of a single value, or of several with
    commas between them. Below a key, it has numbers and booleans where the schema refuses words.
    """
    properties = _schema(schema)["properties"]
    typed = deepcopy({key: _typed(value, properties.get(key, {})) for key, value in config.items()})
    errors = list(_validator(schema).iter_errors(typed))
    while errors:
        error = errors.pop()
        errors += error.context
        if error.validator == "type" and isinstance(error.instance, str) and len(error.absolute_path) > 1:
            *above, last = error.absolute_path
            if isinstance(value := _typed(error.instance, {"type": error.validator_value}), int | float):
                reduce(getitem, above, typed)[last] = value
    return typed


def typed_below(value: Any, schema: str, *keys: str) -> Any:
    """Return a value with the type that a schema has for the last of some keys, each below the one before it."""
    return _typed(value, reduce(lambda entry, key: entry["properties"][key], keys, _schema(schema)))


def _typed(value: Any, entry: Mapping[str, Any]) -> Any:
    """Return a value of the configuration with the type that the schema of its key has."""
    types = [entry.get("type"), *(each.get("type") for kind in ("oneOf", "anyOf") for each in entry.get(kind, ()))]
    kinds = {kind for each in types for kind in (each if isinstance(each, list) else [each])}
    if "array" in kinds and isinstance(value, str) and ("," in value or "string" not in kinds):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if kinds == {"array"} and isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if isinstance(value, list):
        return [_typed(each, entry.get("items", {})) for each in value]
    if isinstance(value, str) and "boolean" in kinds:
        return {"true": True, "false": False}.get(value.lower(), value)
    if isinstance(value, str) and kinds & {"integer", "number"} and NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return value


def _explain(error: ValidationError) -> Iterator[tuple[str, Any, str]]:
    """Yield key path, value found, and what is allowed, of each problem behind one schema error."""
    of_name = [error.instance] if "propertyNames" in error.absolute_schema_path and str(error.instance).isprintable() else []
    path = ".".join(map(str, [*error.absolute_path, *of_name]))
    schema: Any = error.schema
    if error.validator == "additionalProperties":
        known = list(schema.get("properties", {}))
        for unknown in (key for key in error.instance if key not in known):  # type: ignore[union-attr]
            allowed = f"{NO_SUCH_KEY}, {choices(unknown, known)}{_of_others(unknown, known)}"
            yield f"{path}.{unknown}".lstrip("."), unknown, allowed
    elif error.validator == "required":
        for missing in (key for key in schema["required"] if key not in error.instance):  # type: ignore[operator]
            yield f"{path}.{missing}".lstrip("."), MISSING, "this key is required"
    elif error.validator == "enum":
        yield path, error.instance, choices(error.instance, [str(choice) for choice in schema["enum"]])
    else:
        yield path or "the file", error.instance, _expected(error, schema)


def _of_others(key: str, known: list[str]) -> str:
    """Return which kinds of systems have a key that a system does not have; empty if none has it, or these are no keys of one."""
    stems = _stems() if "family" in known else []
    kinds = [stem for stem in stems if {"family", key} <= _schema(stem).get("properties", {}).keys()]
    return f"; it is a setting of {', '.join(kinds)} systems" if kinds else ""


def _expected(error: ValidationError, schema: Any) -> str:
    """Return what a schema expects in place of a wrong value."""
    keyword, value = str(error.validator), schema.get(str(error.validator))
    if keyword == "pattern" and "description" in schema:
        return f"expected {schema['description']}"
    if keyword == "type":
        kinds = " or ".join(KINDS[kind] for kind in ([value] if isinstance(value, str) else value))
        example = schema.get("default", schema.get("examples", [None])[0])
        kinds += " of at most 18 digits" if isinstance(error.instance, int) and abs(error.instance) >= LEAST_LARGE else ""
        return f"expected {kinds}" + (f", such as {example}" if example and example is not True else "")
    if keyword == "const" and value is None:
        return "expected null"
    if keyword == "dependentRequired":
        needs = [f"{key} needs {other} beside it" for key, others in value.items() for other in others]
        return "; ".join(each for each in needs if each.split()[0] in error.instance)  # type: ignore[operator]
    return LIMITS[keyword].format(value) if keyword in LIMITS else error.message


def read_yaml(path: Path) -> Any:
    """Read a file that the project ships."""
    return yaml.load(path.read_bytes(), Loader=FAST_LOADER)  # noqa: S506 - both are safe


def read_catalogue(path: Path, schema: str) -> Any:
    """Read and check a file of the catalogue; ConfigError if it does not follow its schema."""
    value = read_yaml(path)
    problems_with(value, schema).raise_if_any(f"catalogue file {path}")
    return value


@cache
def _stems() -> list[str]:
    """Return the names of all schemas, those of extensions too."""
    return sorted({path.name.removesuffix(ENDING) for folder in with_extensions(SCHEMAS) for path in folder.glob(f"*{ENDING}")})


@cache
def _schema(name: str) -> Any:
    """Return a schema, with the properties and definitions that extensions add to it."""
    schema, *more = (read_yaml(path) for folder in with_extensions(SCHEMAS) if (path := folder / f"{name}{ENDING}").is_file())
    for each in more:
        add_entries(schema, {key: each[key] for key in ("properties", "$defs") if key in each})
    return schema


def add_entries(entries: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add entries to those of a file: below a key that both have, where they are mappings, else in its place."""
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(entries.get(key), dict):
            add_entries(entries[key], value)
        else:
            entries[key] = value


@cache
def _validator(name: str) -> Any:
    # Without their $schema: if a referenced schema has one, jsonschema uses a separate validator for it.
    contents = {stem: {key: value for key, value in _schema(stem).items() if key != "$schema"} for stem in _stems()}
    registry: Registry[Any] = Registry().with_resources(
        (stem, DRAFT202012.create_resource(each)) for stem, each in contents.items()
    )
    return _Validator(_schema(name), registry=registry)
