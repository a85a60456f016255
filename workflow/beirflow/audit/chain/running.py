"""Evaluations that write the results while they are audited."""

from dataclasses import replace
from pathlib import Path

from beirflow.audit.chain.checks import FAILED, WARNING, Check
from beirflow.jobs.results_lock import is_of_a_run
from beirflow.jobs.snakemake_internals.names import LOCKS

READ_BYTES = 1 << 24


def files_being_written(directory: Path, folder: Path) -> frozenset[str]:
    """Return paths below the results that a run of Snakemake, which works in ``directory``, writes and has not ended."""
    found, results = set(), folder.resolve()
    for lock in sorted((directory / LOCKS).glob("*.output.lock")):
        if lock.is_symlink() or not lock.is_file():
            continue
        with lock.open("rb") as stream:
            lines = stream.read(READ_BYTES).decode("utf-8", "replace").splitlines()
        for line in lines:
            path = Path(directory, line).resolve()
            if line and path.is_relative_to(results):
                found.add(path.relative_to(results).as_posix())
    return frozenset(found)


def excuse(check: Check, busy: frozenset[str]) -> Check:
    """Turn a failure that a run in progress may be the reason of into a warning.

    The run of the audit itself, which may have other targets, is the reason of nothing but what it writes: otherwise a command
    for the audit and the report together would report no forgery.
    """
    if check.status != FAILED or not busy or (is_of_a_run() and not (check.files and busy.issuperset(check.files))):
        return check
    why = f"a run of Snakemake that writes {len(busy)} files here is in progress, or ended without removing its lock"
    problem = f"{check.found}; {why}"
    return replace(check, status=WARNING, found=problem, results=(), repair="audit again when it has ended")
