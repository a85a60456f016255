"""A digest of the code that a job runs, because Snakemake does not see edits inside a package.

It stands in the ``params`` of every rule whose result depends on our code: an edit to a module reruns the jobs that use it,
directly or through other modules of the package, and no others.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
SCRIPTS = PACKAGE.parent / "scripts"

NO_INFLUENCE = {"device_lease", "disks", "errors", "gpu_job", "gpus", "job_log", "lifetime", "progress"}
"""Modules that decide over words, over which of several GPUs computes and when a job ends, and over no result: an edit to them
reruns nothing."""


@cache
def code_version(script: str) -> str:
    """Digest of an adapter in ``workflow/scripts`` and of all package modules that it reaches.

    Args:
        script: Stem of the adapter, which is also the name of its rule, e.g. ``"encode_chunk"``.

    Returns:
        16 hexadecimal digits.
    """
    adapter = SCRIPTS / f"{script}.py"
    modules: set[Path] = set()
    _collect(adapter, modules)
    digest = hashlib.sha256(adapter.read_bytes())
    for module in sorted(modules):
        digest.update(module.name.encode() + b"\0" + module.read_bytes())
    return digest.hexdigest()[:16]


def _collect(path: Path, modules: set[Path]) -> None:
    """Add to ``modules`` the files of the package that the file at ``path`` imports, at whatever depth."""
    for name in _imports(path):
        module = PACKAGE / f"{name}.py"
        if name not in NO_INFLUENCE and module.is_file() and module not in modules:
            modules.add(module)
            _collect(module, modules)


def _imports(path: Path) -> set[str]:
    """Names of the package's modules in the import statements of one file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == PACKAGE.name:
                names.update(parts[1:2] or [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
            names.update(parts[1] for parts in dotted if parts[0] == PACKAGE.name and len(parts) > 1)
    return names
