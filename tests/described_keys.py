"""Reference pages and JSON Schema from the code that they describe; as a program, this module writes them."""

import ast
import inspect
import json
import re
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from beirflow.cli import command_module, command_names
from beirflow.cli.listing import _targets
from beirflow.config.configuration import CLASSES, MODEL
from beirflow.config.load import load_experiment
from beirflow.config.models import ENTRIES, fields_of, keys_of
from beirflow.core.extensions import extensions
from beirflow.ranking.measures.all_measures import MEASURES

REPOSITORY = Path(__file__).parents[1]
SCHEMA, PAGE = REPOSITORY / "workflow/schemas/config.schema.json", REPOSITORY / "docs/keys.md"
COMMAND = "python tests/described_keys.py"

START, END = "<!-- written by tests/described_keys.py -->", "<!-- end -->"
"""Marks around a table in a page that people write."""

EVERYWHERE = ("--configfile", "--cores")
"""Options that the page of commands describes once."""

SHARED = {"Family": "Models, in several families", "`": "Models that expand documents, in several families"}
"""Headings of tables of rows that several families have, by the beginnings of the headings that share them."""

NOT_SHOWN = ("The configuration", "`command", "`pathvars")
"""Beginnings of headings: of what config.yaml shows, and of keys that only commands and Snakemake write."""

LIMITLESS = 10**6
"""Largest values from here on only guard against mistakes, and are not shown."""

HEAD = f"""# Keys of the configuration

All keys of the core, with the values that they take, from the code (`{COMMAND}` writes this page).
[Configuration](configuration.md) has examples; [extensions](extensions.md) describe their keys. Families with a
model also take keys of [the last tables](#models-in-several-families).

## The configuration

```{{literalinclude}} ../config.yaml
:language: yaml
```
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
            yield f"Family {family}{f' with `{key}`' if key else ''}", [kind]
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
    names = {"boolean": "true or false", "string": "text", "object": "keys"}
    if least is None:
        return names.get(kind, kind)
    ends = f"{least:g} to {most:g}" if most is not None and most < LIMITLESS else f"≥ {least:g}"
    return f"{kind} {ends}"


def keys_page() -> str:
    """Return the page of the core's keys: a table a class, and at the end the rows that several families share."""
    tables: dict[str, list[str]] = {}
    for heading, kinds in sections():
        if not heading.startswith(NOT_SHOWN) and all(map(of_the_core, kinds)):
            tables.setdefault(heading, [row for kind in kinds for row in _rows(kind)])
    rest = dict[str, list[str]]()
    for beginning, heading in SHARED.items():
        numbers = Counter(row for each, rows in tables.items() if each.startswith(beginning) for row in rows if "amily" in each)
        rest[heading] = [row for row, number in numbers.items() if number > 1]
    shared = {row for rows in rest.values() for row in rows}
    parts = [_table(heading, [row for row in rows if row not in shared]) for heading, rows in tables.items()]
    return "\n".join([HEAD, *filter(None, parts), *(_table(heading, rows) for heading, rows in rest.items())])


def of_the_core(kind: Any) -> bool:
    """Test whether a class of keys is part of the core; those made of several extensions are of the module ``types``."""
    return extension_of(kind) is None and kind.__module__ != "types"


def extension_of(kind: Any) -> str | None:
    """Return the name of the extension that a class of keys belongs to."""
    return next(iter(re.findall(r"^beirflow\.extensions\.(\w+)", kind.__module__)), None)


def keys_of_extension(name: str) -> list[str]:
    """Return the tables of the nested keys that an extension adds; its README has the others with their defaults."""
    inside = ((heading, kind) for heading, (kind, *_) in sections() if heading.startswith("`") and extension_of(kind) == name)
    return "".join(_table(heading, [*_rows(kind)]) for heading, kind in inside if not heading.startswith(NOT_SHOWN)).splitlines()


def _table(heading: str, rows: list[str]) -> str:
    return "\n".join((f"## {heading}\n", "| key | value | meaning |", "|---|---|---|", *rows, "")) if rows else ""


def _rows(kind: Any) -> Iterator[str]:
    texts = descriptions(kind)
    for key, (stated, default) in fields_of(kind).items():
        given = ", required" if default is ... else "" if default in (None, "", {}) else f", default `{json.dumps(default)}`"
        value = words(TypeAdapter(stated).json_schema()).removesuffix(" or null")
        meaning = texts.get(key, "").replace("|", r"\|").replace("<", "&lt;")
        yield f"| `{key}` | {(value + given).removeprefix('text, ')} | {meaning} |"


def measures_table() -> list[str]:
    """Return the table of measures."""
    return _columns("measure", "meaning", ((f"`{name}`", each.meaning) for name, each in MEASURES.items()))


def targets_table() -> list[str]:
    """Return the table of the core's targets; those of extensions are in their READMEs."""
    added = {name for each in extensions() for name in (*each.targets, *each.commands)}
    added |= {re.sub(r"\{(\w+)\}", r"<\1>", f"results/{path}") for each in extensions() for path in each.patterns if path.content}
    rows = ((str(row["target"]), str(row["content"])) for row in _targets(load_experiment({})).rows)
    return _columns("target", "content", ((f"`{name}`", content) for name, content in rows if name not in added))


def commands_table() -> list[str]:
    """Return the table of commands with their options."""
    return _columns("command", "what it does, and its options", map(_command, command_names()))


def _command(name: str) -> tuple[str, str]:
    module, parser = command_module(name), ArgumentParser(add_help=False)
    module.add_arguments(parser)
    options = [each for each in parser._actions if each.option_strings and each.option_strings[0] not in EVERYWHERE]
    lines = (f"`{'`, `'.join(each.option_strings)}`: {each.help}" for each in options)
    return f"`{name}`", "<br>".join([module.HELP, *lines])


def _columns(first: str, second: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"| {first} | {second} |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]


TABLES: dict[str, Callable[[], list[str]]] = {
    "docs/measures.md": measures_table,
    "docs/targets.md": targets_table,
    "docs/command.md": commands_table,
    **{f"extensions/{name}/README.md": partial(keys_of_extension, name) for name in ("choice", "exchange", "genq", "judging")},
}
"""Tables in pages that people write, by the path of the page."""


def with_table(page: str, table: list[str]) -> str:
    """Return a page with a table between its two marks."""
    before, _, rest = page.partition(f"{START}\n")
    return "\n".join([before + START, *table, END + rest.partition(END)[2]])


if __name__ == "__main__":
    SCHEMA.write_text(json_schema(), encoding="utf-8")
    PAGE.write_text(keys_page(), encoding="utf-8")
    for name, table in TABLES.items():
        path = REPOSITORY / name
        path.write_text(with_table(path.read_text(encoding="utf-8"), table()), encoding="utf-8")
