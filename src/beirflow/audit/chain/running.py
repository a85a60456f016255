"""Evaluations that write the results while they are audited."""

from dataclasses import replace
from pathlib import Path

from beirflow.audit.chain.checks import FAILED, WARNING, Check
from beirflow.core.layout import LOG
from beirflow.run.results_lock import is_held
from beirflow.run.undocumented import LOCKS

READ_BYTES = 1 << 24


def files_being_written(directory: Path, folder: Path) -> frozenset[str]:
    """Return paths below the results that a living run of Snakemake, which works in ``directory``, writes.

    Lists of such paths may have been left behind or copied with the results. They count only while a process holds the lock of
    the results, which no copied file does.
    """
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
    return frozenset(found) if found and is_held(results / LOG.folder()) else frozenset()


def excuse(check: Check, busy: frozenset[str]) -> Check:
    """Turn a failure into an undecided warning if a living run writes every file that it is about.

    No other failure is excused: the run may be that of the audit itself, with other targets, and a command for the audit and the
    report together would report no forgery.
    """
    if check.status != FAILED or not check.files or not busy.issuperset(check.files):
        return check
    problem = f"{check.found}; a run of Snakemake that writes {len(busy)} files here is in progress"
    return replace(check, status=WARNING, found=problem, results=(), repair="audit again when it has ended", undecided=True)
