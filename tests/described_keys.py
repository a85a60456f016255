"""The keys of a configuration as their classes describe them; as a program, it writes their JSON Schema and their page."""

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from beirflow.config.configuration import CLASSES, MODEL
from beirflow.config.models import ENTRIES, fields_of, keys_of
from beirflow.core.keys import LARGEST

REPOSITORY = Path(__file__).parents[1]
SCHEMA, PAGE = REPOSITORY / "workflow/schemas/config.schema.json", REPOSITORY / "docs/keys.md"
COMMAND = "python tests/described_keys.py"

HEAD = f"""# Keys of the configuration

What each key may be, its default, and what it means, from the classes of the keys; written by `{COMMAND}`.
[configuration.md](configuration.md) has examples. An editor that reads JSON Schema completes and checks keys by
`workflow/schemas/config.schema.json`.
"""


def descriptions(kind: type[Any]) -> dict[str, str]:
    """Return the docstring below each field of a class, and of the classes that it extends."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not is_dataclass(each) or each.__module__ == "types":
            continue
        module = ast.parse(Path(inspect.getfile(each)).read_text(encoding="utf-8"))
        name = ""
        for body in (node.body for node in module.body if isinstance(node, ast.ClassDef) and node.name == each.__name__):
            for statement in body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    name = statement.target.id
                elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and name:
                    found[name] = " ".join(str(statement.value.value).split())
    return found


def classes_in(stated: Any) -> list[Any]:
    """Return the classes of keys in a type."""
    if isinstance(stated, type) and is_dataclass(stated):
        return [stated]
    return [each for part in getattr(stated, "__args__", ()) for each in classes_in(part)]


def sections() -> Iterator[tuple[str, list[Any]]]:
    """Yield the headings of tables, and the classes whose keys they have."""
    yield "The configuration", [*CLASSES]
    yield from _below("", CLASSES, "")
    for family, kinds in ENTRIES.items():
        for key, kind in kinds.items():
            yield f"Systems of the family {family}{f' with `{key}`' if key else ''}", [kind]
            yield from _below("", [kind], f" of the family {family}")


def _below(path: str, kinds: Any, ending: str) -> Iterator[tuple[str, list[Any]]]:
    types = [("", key, stated) for kind in kinds for key, (stated, _) in keys_of(kind).items()]
    of_kinds = [each for kind in kinds for each in getattr(kind, "kinds", {}).items()]
    types += [(f" with `{name}`", key, stated) for name, each in of_kinds for key, stated in each.types.items()]
    for where, key, stated in types:
        for each in (each for each in classes_in(stated) if each not in [*ENTRIES["dense"].values()]):
            yield f"`{path}{key}`{where}{ending}", [each]
            yield from _below(f"{path}{key}.", [each], ending)


def json_schema() -> str:
    """Return the JSON Schema of a configuration."""
    schema = MODEL.model_json_schema()
    every = {kind.__name__: [kind] for _, kinds in sections() for kind in kinds} | {"Configuration": [*CLASSES]}
    for definition in (schema, *schema["$defs"].values()):
        texts = {key: text for kind in every.get(definition["title"], ()) for key, text in descriptions(kind).items()}
        for key, value in definition.get("properties", {}).items():
            value |= {"description": texts[key]} if key in texts else {}
    base = {"type": "string", "description": "Another system, whose settings it has, and others of its own."}
    schema["$defs"]["Unknown"] = {"type": "object", "properties": {"base": base}, "required": ["base"]}
    return json.dumps(_plain(schema), indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Return a schema without titles, tags and defaults of null; of alternatives, several may fit."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = [(key, each) for key, each in value.items() if not (key == "title" and isinstance(each, str))]
    return {"anyOf" if key == "oneOf" else key: _plain(each) for key, each in kept if (key, each) != ("default", None)}


def words(schema: Any) -> str:
    """Return what a JSON Schema allows."""
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(words, schema[several])))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{json.dumps(each).strip(chr(34))}`" for each in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "object" if "$ref" in schema else "any")
    if kind == "array":
        return f"list of {words(schema['items'])}"
    least, most = (schema.get(name, schema.get(f"exclusive{name.title()}")) for name in ("minimum", "maximum"))
    limits = (f" from {least:g}" if least is not None else "") + (
        f" to {most:g}" if most not in (None, LARGEST, 2**53 - 1) else ""
    )
    names = {"integer": "whole number", "boolean": "true or false", "string": "text", "object": "keys", "null": "null"}
    return names.get(kind, kind) + limits


def keys_page() -> str:
    """Return the tables of all keys."""
    tables: dict[str, str] = {}
    for heading, kinds in sections():
        rows = [row for kind in kinds for row in _rows(kind)]
        tables.setdefault(
            heading, "\n".join((f"\n## {heading}\n", "| key | value | default | meaning |", "|---|---|---|---|", *rows))
        )
    return "\n".join((HEAD.rstrip(), *tables.values())) + "\n"


def _rows(kind: Any) -> Iterator[str]:
    texts = descriptions(kind)
    for key, (stated, default) in fields_of(kind).items():
        shown = "required" if default is ... else "" if default is None else f"`{json.dumps(default)}`"
        meaning = texts.get(key, "").replace("|", r"\|").replace("<", "&lt;")
        yield f"| `{key}` | {words(TypeAdapter(stated).json_schema())} | {shown} | {meaning} |"


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(json_schema(), encoding="utf-8")
    PAGE.write_text(keys_page(), encoding="utf-8")
