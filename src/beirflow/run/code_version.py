"""A digest of the code that a job runs, because Snakemake does not see edits inside a package.

It is in the ``params`` of every rule whose result depends on our code: an edit to a module reruns the jobs that use it, directly
or through other modules of the package, and no others. An edit to comments, docstrings or blank lines alone reruns nothing.
"""

import ast
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from beirflow import EXTENSIONS
from beirflow.core.extensions import extensions
from beirflow.core.python_source import parse_python

PACKAGE = Path(__file__).parents[1]

NO_INFLUENCE = {
    *("core.artifact", "core.disks", "core.errors", "core.extensions", "core.keys", "core.progress", "models.computing.failing"),
    *("run.rule_call", "run.gpu_job", "run.gpus", "run.interrupts", "run.job", "run.results_lock"),
}
"""Modules that affect messages, the choice of GPU or a job's lifetime, but never a result: an edit to them reruns nothing."""

OTHERS = "beirflow_"  # beginning of the name of a package with an extension of others

PATHS = "core.layout"
"""Nor does an edit to the paths of results: where those of a job's files are others, Snakemake reruns it."""

PATHS_OF_EXTENSION = re.compile(r"(?:extensions\.\w+|beirflow_\w+)\.layout")

IMPORT = re.compile(rb"^[ \t]*((?:from|import) beirflow[^(\n]*(?:\([^)]*\))?)", re.MULTILINE)
"""An import statement of the package, on lines of its own and without a backslash."""

LOADS_FOLDER = b"from pkgutil import iter_modules"  # line of a module that imports all modules of its folder

STRING = b"|".join(
    rb"r?%b{3}(?:[^%b\\]+|\\.|%b(?!%b{2}))*%b{3}|%b(?:[^%b\\\n]+|\\.)*%b".replace(b"%b", quote) for quote in (b'"', b"'")
)
STRINGS = re.compile(STRING, re.DOTALL)
LINE = re.compile(rb"""((?:[^"'#\n\\]+|%b|\\.|["'])*)(?:#.*?)?\n""" % STRING, re.DOTALL)
"""A line without its comment, with the following lines of its strings, or of itself behind a backslash."""

QUOTES, OUTSIDE_OF_BRACKETS = (b'"', b"'", b'r"'), (b"def ", b"class ", b"async def ")  # beginnings of lines
AS_ROUND, NO_BRACKETS = bytes.maketrans(b"[]{}", b"()()"), bytes(set(range(256)) - set(b"()[]{}"))


class Module(NamedTuple):
    """A file of the package."""

    digest: bytes  # of its statements
    imports: frozenset[str]  # the modules of the package that it imports itself, by their names below it


def calls(function: str, *functions: str, **makers: str) -> dict[str, str]:
    """Return entries of a rule's ``params``: its function, those that make arguments of it, and the digest of their code.

    Args:
        function: ``"beirflow.<module>:<function>"``.
        *functions: Others that the job calls, such as those that extensions add to the rule.
        **makers: By argument, ``"beirflow.<module>:<function>()"``; without ``()`` the function is the argument.

    Returns:
        The entries, for ``**`` in ``params``; the digest is ``code``.
    """
    called = (function, *(maker.removesuffix("()") for maker in makers.values()), *functions)
    return {"function": function, **makers, "code": code_version(*called)}


@cache
def code_version(*functions: str) -> str:
    """Return 16 hexadecimal digits of the names of functions, and of all package modules that they are in or reach."""
    return _digest(modules_of(*functions), *functions)


def modules_of(*functions: str) -> set[str]:
    """Return the modules whose code functions may run, e.g. ``"families.dense.encode"``, without those of ``NO_INFLUENCE``.

    Modules of a package ``beirflow_<name>`` have their full names, as everywhere here.
    """
    return _with_reached(function.partition(":")[0] for function in functions)


def code_of(modules: Iterable[str]) -> str:
    """Return 16 hexadecimal digits of modules by full names, which no import statement leads to, and of all that they reach."""
    return _digest(_with_reached(modules))


def _with_reached(modules: Iterable[str]) -> set[str]:
    """Return modules and all that they reach, from their full names."""
    below = {name.removeprefix(f"{PACKAGE.name}.") for name in modules}
    return below.union(*(reached_modules(_file_of(module)) for module in below))


def _digest(modules: Iterable[str], *functions: str) -> str:
    """Return 16 hexadecimal digits of names of functions, and of names and statements of modules."""
    # Names of functions, too: another function of the same modules is other code.
    digest = hashlib.sha256(" ".join(functions).encode())
    for name in sorted(modules):
        digest.update(name.encode() + b"\0" + module_at(_file_of(name)).digest)
    return digest.hexdigest()[:16]


def reached_modules(path: Path) -> set[str]:
    """Return the modules that a file imports at any depth, e.g. ``"families.dense.encode"``, without ``NO_INFLUENCE``."""
    reached: set[str] = set()
    # Imports inside functions count as if they always ran: a job too many costs less than a stale result.
    waiting = set(module_at(path).imports)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= module_at(_file_of(name)).imports - reached
    return {name for name in reached if name != PATHS and not PATHS_OF_EXTENSION.fullmatch(name)}


@cache
def module_at(path: Path) -> Module:
    """Read a file once, since most modules are reached from many rules, and every job of a cluster starts here."""
    source = path.read_bytes()
    lines = code_lines(source)
    names = imported_names(source, lines, _package_of(path))
    if LOADS_FOLDER in lines:
        names |= {name for name in _modules() if _file_of(name).parent == path.parent}
    return Module(hashlib.sha256(b"\n".join(lines)).digest(), names & _modules() - NO_INFLUENCE)


def code_lines(source: bytes) -> list[bytes]:
    """Return the lines of a source without comments, docstrings and blank lines.

    Neither ``ast`` nor ``tokenize``: what they return differs between versions of Python, and they take ten times as long.
    """
    lines = list(filter(None, map(bytes.rstrip, LINE.findall(source + b"\n"))))
    docstrings, closed = set(), 0  # places of lines; no bracket is open before the line at the second
    for place, line in enumerate(lines):
        stripped = line.lstrip()
        if stripped.startswith(OUTSIDE_OF_BRACKETS):
            closed = place
        elif stripped.startswith(QUOTES) and not STRINGS.sub(b"", line).strip():
            brackets = STRINGS.sub(b"", b"\n".join(lines[closed:place])).translate(AS_ROUND, NO_BRACKETS)
            if brackets.count(b"(") == brackets.count(b")"):  # a statement of its own; between brackets it is a value
                docstrings.add(place)
                closed = place
    return [line for place, line in enumerate(lines) if place not in docstrings]


@cache
def _modules() -> set[str]:
    """Return the names of all modules of the package."""
    starts = {PACKAGE: ""}
    for folder in (extension.folder for extension in extensions()):
        starts[folder] = f"{folder.name}." if folder.name.startswith(OTHERS) else f"extensions.{folder.name}."
    files = [(folder, path, start) for folder, start in starts.items() for path in folder.rglob("*.py")]
    # The file of a package counts where it holds more than a docstring.
    kept = ((folder, path, start) for folder, path, start in files if path.name != "__init__.py" or code_lines(path.read_bytes()))
    names = {start + ".".join(path.relative_to(folder).with_suffix("").parts) for folder, path, start in kept}
    return {name.removesuffix(".__init__") for name in names}


@cache
def _packages_of_others() -> dict[str, Path]:
    """Return the folders of the packages ``beirflow_<name>`` by name."""
    return {extension.folder.name: extension.folder for extension in extensions() if extension.folder.name.startswith(OTHERS)}


@cache
def _file_of(name: str) -> Path:
    first, _, below = name.partition(".")
    if first.startswith(OTHERS):
        path = _packages_of_others()[first].joinpath(*filter(None, below.split(".")))
    else:
        path = (EXTENSIONS.parent if first == "extensions" else PACKAGE).joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _package_of(path: Path) -> str:
    """Return the package that relative imports of a file start from; empty for a file of this package, which has none."""
    around = next((folder.parent for folder in _packages_of_others().values() if path.is_relative_to(folder)), None)
    return ".".join(path.relative_to(around).parent.parts) if around else ""


def imported_names(source: bytes, lines: list[bytes], around: str = "") -> frozenset[str]:
    """Return the names in the import statements of a file of this package and those of others; not all are of modules.

    Of this package, only these statements are parsed, which takes a thirtieth of the time. Relative ones start from ``around``, a
    package of others.
    """
    tree = parse_python(source if around else b"\n".join(IMPORT.findall(b"\n".join(lines))))
    names = (name for node in ast.walk(tree) for name in _imported(node, around))
    return frozenset(name.removeprefix("beirflow.") for name in names if name.startswith(("beirflow.", OTHERS)))


def _imported(node: ast.AST, around: str = "") -> list[str]:
    if isinstance(node, ast.ImportFrom):
        above = around.split(".")[: around.count(".") + 2 - node.level] if node.level else []
        module = ".".join(filter(None, (*above, node.module)))
        return [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
