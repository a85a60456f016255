"""JSON Schema checks whose messages name the key, what was found, what is allowed, and the nearest name."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from beirflow.errors import ConfigError

SCHEMAS = Path(__file__).parent.parent / "schemas"


@dataclass
class Problems:
    """What is wrong with a configuration or a catalogue file, one line a problem."""

    lines: list[str] = field(default_factory=list)

    def add(self, key: str, found: Any, allowed: str) -> None:
        """Note a problem: the path of the key, the value found, what would be allowed."""
        self.lines.append(f"{key}: found {found!r}; {allowed}")

    def raise_if_any(self, where: str) -> None:
        """Raise all the problems at once.

        Args:
            where: What was checked, for the first line of the message.

        Raises:
            ConfigError: There is at least one problem.
        """
        if self.lines:
            raise ConfigError("\n  ".join([f"{where} cannot be used:", *self.lines]))


def nearest(name: object, allowed: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where ``name`` looks like a typo of an allowed name, else nothing."""
    matches = difflib.get_close_matches(str(name), list(allowed), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def problems_with(value: Any, schema: str) -> Problems:
    """Check a value against ``workflow/schemas/<schema>.schema.yaml``.

    Args:
        value: What a YAML file holds.
        schema: Name of the schema.

    Returns:
        The problems, in the order of the keys; none if the value is as it should be.
    """
    problems = Problems()
    for error in sorted(_validator(schema).iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path]):
        for inner in error.context or [error]:
            problems.add(*_explain(inner))
    return problems


def defaults(schema: str) -> dict[str, Any]:
    """The default of each top-level key of a schema that has one."""
    return {key: entry["default"] for key, entry in _schema(schema)["properties"].items() if "default" in entry}


def _explain(error: ValidationError) -> tuple[str, Any, str]:
    """Key path, value found, and what is allowed, of one schema error."""
    path = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))  # type: ignore[union-attr]
        unknown = next(key for key in error.instance if key not in known)  # type: ignore[union-attr]
        return (
            f"{path}.{unknown}".lstrip("."),
            unknown,
            f"no such key here, allowed are {', '.join(known)}{nearest(unknown, known)}",
        )
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)  # type: ignore[union-attr, operator]
        return (f"{path}.{missing}".lstrip("."), None, "this key is required")
    if error.validator == "enum":
        choices = [str(choice) for choice in error.validator_value]  # type: ignore[union-attr]
        return (path, error.instance, f"allowed are {', '.join(choices)}{nearest(error.instance, choices)}")
    allowed = error.schema.get("description", "") if error.validator == "pattern" else ""  # type: ignore[union-attr]
    return (path or "the file", error.instance, f"{error.message}" + (f" ({allowed})" if allowed else ""))


@cache
def _schema(name: str) -> Any:
    return yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text(encoding="utf-8"))


@cache
def _validator(name: str) -> Draft202012Validator:
    stems = [path.name.removesuffix(".schema.yaml") for path in SCHEMAS.glob("*.schema.yaml")]
    registry: Registry[Any] = Registry().with_resources((stem, Resource.from_contents(_schema(stem))) for stem in stems)
    return Draft202012Validator(_schema(name), registry=registry)
