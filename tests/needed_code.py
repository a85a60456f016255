"""The modules whose code a stage can execute, name by name: fewer than it imports, if a module holds the code of two stages."""

import ast
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from beirflow.run.code_version import NO_INFLUENCE, PACKAGE
from workflow_rules import functions_of


class Names(NamedTuple):
    """Names that a module defines at its top level, and those that it imports from the package."""

    defined: dict[str, list[ast.stmt]]
    imported: dict[str, tuple[str, str]]


ALWAYS = ""
"""The name of statements that run whenever a module is imported."""


def needed_modules(rule: str) -> set[str]:
    """Return the modules of the package with a name that the functions of a rule need, directly or through other names."""
    named = (function.removeprefix(f"{PACKAGE.name}.").partition(":") for function in functions_of(rule))
    waiting = [(module, name) for module, _, name in named]
    seen: set[tuple[str, str]] = set()
    while waiting:
        module, name = waiting.pop()
        if (module, name) not in seen and module not in NO_INFLUENCE:
            seen.add((module, name))
            waiting += _used_by(module, name)
    return {module for module, _ in seen}


def _used_by(module: str, name: str) -> list[tuple[str, str]]:
    names = _names_of(module)
    used = {found for statement in names.defined.get(name, ()) for found in _mentioned(statement)} | {name}
    inside = [(module, each) for each in (used & set(names.defined)) | {ALWAYS}]
    return inside + [names.imported[each] for each in used & set(names.imported)]


def _mentioned(statement: ast.stmt) -> Iterable[str]:
    return (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))


@cache
def _names_of(module: str) -> Names:
    tree = ast.parse(PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_bytes())
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            for name in _names_defined_by(statement):
                defined.setdefault(name, []).append(statement)
    return Names(defined, _imported_names(ast.walk(tree)))


def _names_defined_by(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return [ALWAYS]


def _imported_names(nodes: Iterable[ast.AST]) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of every name that is imported from the package."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE.name}."):
            module = (node.module or "").removeprefix(f"{PACKAGE.name}.")
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                is_module = PACKAGE.joinpath(*inner.split(".")).with_suffix(".py").is_file()
                found[alias.asname or alias.name] = (inner, ALWAYS) if is_module else (module, alias.name)
    return found
