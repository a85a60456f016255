"""A digest of the code that a job runs, because Snakemake does not see edits inside a package.

It is in the ``params`` of every rule whose result depends on our code: an edit to a module reruns the jobs that use it, directly
or through other modules of the package, and no others.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
SCRIPTS = PACKAGE.parent / "scripts"

NO_INFLUENCE = {
    *("files.disks", "files.errors", "files.progress"),
    *("jobs.gpu_job", "jobs.gpu_lease", "jobs.gpus", "jobs.job", "jobs.lifetime", "jobs.results_lock"),
}
"""Modules that affect messages, the choice of GPU or a job's lifetime, but never a result: an edit to them reruns nothing."""


@cache
def code_version(script: str) -> str:
    """Digest of an adapter in ``workflow/scripts`` and of all package modules that it reaches.

    Args:
        script: Stem of the adapter, which is also the name of its rule, e.g. ``"encode_chunk"``.

    Returns:
        16 hexadecimal digits.
    """
    adapter = SCRIPTS / f"{script}.py"
    digest = hashlib.sha256(adapter.read_bytes())
    for name in sorted(reached_modules(adapter)):
        digest.update(name.encode() + b"\0" + _file_of(name).read_bytes())
    return digest.hexdigest()[:16]


def code_of(modules: Iterable[str]) -> str:
    """Digest of modules that are imported by their names, which no import statement leads to, and of all that they reach.

    Args:
        modules: Their full names, e.g. ``"beirflow.dense.answers"``.

    Returns:
        16 hexadecimal digits.
    """
    below = {name.removeprefix(f"{PACKAGE.name}.") for name in modules}
    digest = hashlib.sha256()
    for name in sorted(below.union(*(reached_modules(_file_of(module)) for module in below))):
        digest.update(name.encode() + b"\0" + _file_of(name).read_bytes())
    return digest.hexdigest()[:16]


def reached_modules(path: Path) -> set[str]:
    """Names of the package's modules that a file imports, at whatever depth, without those of ``NO_INFLUENCE``.

    Args:
        path: A Python file.

    Returns:
        Names below the package, e.g. ``"dense.encode"``.
    """
    reached: set[str] = set()
    waiting = [path]
    while waiting:
        for name in _imports(waiting.pop().read_bytes()):
            if name not in reached | NO_INFLUENCE and _file_of(name).is_file():
                reached.add(name)
                waiting.append(_file_of(name))
    return reached


def _file_of(name: str) -> Path:
    return PACKAGE.joinpath(*name.split(".")).with_suffix(".py")


@cache
def _imports(content: bytes) -> frozenset[str]:
    """Names below the package in the import statements of one file; some are of modules, others of what is in one.

    Read once a file, since most modules are reached from many rules, and every job of a cluster starts here.
    """
    return frozenset(
        below
        for node in _statements(ast.parse(content))
        for package, _, below in (name.partition(".") for name in _imported(node))
        if package == PACKAGE.name and below
    )


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree and the statements in it, at whatever depth; import statements are in no expression."""
    yield tree
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        inside = getattr(tree, block, ())
        for node in inside if isinstance(inside, list) else ():
            yield from _statements(node)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
