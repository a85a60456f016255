"""A digest of the code that a job runs, because Snakemake does not see edits inside a package.

It is in the ``params`` of every rule whose result depends on our code: an edit to a module reruns the jobs that use it, directly
or through other modules of the package, and no others.
"""

import ast
import hashlib
from collections.abc import Iterator
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
        for name in _imports(waiting.pop()):
            if name not in reached | NO_INFLUENCE and _file_of(name).is_file():
                reached.add(name)
                waiting.append(_file_of(name))
    return reached


def _file_of(name: str) -> Path:
    return PACKAGE.joinpath(*name.split(".")).with_suffix(".py")


def _imports(path: Path) -> Iterator[str]:
    """Names below the package in the import statements of one file; some are of modules, others of what is in one."""
    for node in ast.walk(_parsed(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            dotted = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        else:
            continue
        for name in dotted:
            package, _, below = name.partition(".")
            if package == PACKAGE.name and below:
                yield below


@cache
def _parsed(content: bytes) -> ast.Module:
    """Most modules are reached from many rules."""
    return ast.parse(content)
