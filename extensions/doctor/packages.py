"""Versions of Python, Snakemake and the optional packages."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from beirflow.extensions.doctor.finding import OK, PROBLEM, WARNING, Finding

EXTRAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "models": ("dense, sparse, late-interaction and re-ranking models", ("torch", "transformers", "tokenizers")),
    "faiss": ("approximate indexes", ("faiss-cpu",)),
    "onnx": ("ONNX graphs", ("onnx", "onnxruntime")),
    "sentence-transformers": ("folders that this library encodes itself", ("sentence-transformers",)),
    "slurm": ("clusters (in a checkout: pip install ./plugins/slurm)", ("snakemake-executor-plugin-beirflow-slurm",)),
    "bucket": ("results in a bucket", ("snakemake-storage-plugin-s3",)),
}
"""By extra, what needs it, and its packages."""

INSTEAD = {"faiss-cpu": ("faiss-gpu", "faiss-gpu-cu12"), "onnxruntime": ("onnxruntime-gpu",)}  # packages with the same modules


def of_packages() -> Iterator[Finding]:
    """Yield Python, beirflow, Snakemake and the optional packages."""
    import platform

    import beirflow

    yield Finding(OK, "Python", f"{platform.python_version()}, {sys.executable}")
    here = f"{installed('beirflow') or 'not installed, a checkout'}, {Path(beirflow.__file__).parent}"
    yield Finding(OK, "beirflow", here)
    yield _of_version("Snakemake", "snakemake", missing=PROBLEM)
    for extra, (purpose, packages) in EXTRAS.items():
        yield from _of_extra(extra, purpose, packages)


def _of_version(what: str, package: str, missing: str = OK) -> Finding:
    """Return the version of a package of which older ones do not work."""
    from beirflow.core.errors import ConfigError
    from beirflow.run.provenance import VERSIONS, check_version

    if not (version := installed(package)):
        return Finding(missing, what, "not installed", f"pip install '{package}>={VERSIONS[package][0]}'")
    try:
        newer = check_version(package)
    except ConfigError as error:
        return Finding(PROBLEM, what, version, str(error))
    return Finding(WARNING if newer else OK, what, f"{version} (tried: {' to '.join(VERSIONS[package])})", newer)


def _of_extra(extra: str, purpose: str, packages: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the packages of an extra, or that it is not installed."""
    versions = {name: next(filter(None, map(installed, (name, *INSTEAD.get(name, ())))), None) for name in packages}
    install = f"pip install 'beirflow[{extra}]'"
    if not any(versions.values()):
        status, without = (WARNING, "only BM25, imported runs and fusions work") if extra == "models" else (OK, "optional")
        yield Finding(status, extra, f"not installed ({without})", f"for {purpose}: {install}")
        return
    found = ", ".join(f"{name} {version or 'MISSING'}" for name, version in versions.items())
    if missing := [name for name, version in versions.items() if not version]:
        yield Finding(WARNING, extra, found, f"{' and '.join(missing)} for {purpose}: {install}")
        return
    wrong = list(_out_of_range(extra, versions))
    yield Finding(PROBLEM if wrong else OK, extra, found, "; ".join(wrong))


def _out_of_range(extra: str, versions: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the packages of an extra whose versions this version of beirflow does not allow, where it is installed."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        required = [Requirement(each) for each in requires("beirflow") or ()]
    except PackageNotFoundError:
        return
    for each in required:
        version = versions.get(each.name)
        of_extra = each.marker is not None and each.marker.evaluate({"extra": extra}) and not each.marker.evaluate({"extra": ""})
        if version and of_extra and not each.specifier.contains(version, prereleases=True):
            yield f"{each.name} {version} is not tested: pip install '{each.name}{each.specifier}'"


def installed(package: str) -> str | None:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
