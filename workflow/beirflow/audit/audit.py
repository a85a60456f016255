"""Audit a folder of results: look at everything, change nothing, and write down what was found."""

import secrets
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain, part
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, RecordError, damaged, row
from beirflow.audit.integrity import check_digests, check_leftovers, check_manifest
from beirflow.audit.published import check_published
from beirflow.audit.recomputation import check_recomputation
from beirflow.audit.sources import check_origins
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.manifest import NAME as MANIFEST
from beirflow.files.errors import DataError
from beirflow.files.records import write_json
from beirflow.jobs.provenance import code_state, environment
from beirflow.report.pages import write_page

SEED_BITS = 32


def audit(*, folder: str, experiment: Experiment, sample: int = 0, seed: int | None = None) -> str:
    """Check a folder of results and write ``audit.json`` and ``audit.html`` into it.

    Args:
        folder: The results.
        experiment: The configuration of whoever audits: where datasets and models lie. What was configured for the results is
            read from their manifest.
        sample: Documents and queries of each corpus to encode and search again; none if 0.
        seed: Of the sample; drawn and written down if None, so that nobody can know beforehand what will be looked at.

    Returns:
        What was found, for reading on a terminal.

    Raises:
        DataError: A check failed; everything has been written then.
    """
    if not (Path(folder) / MANIFEST).is_file():
        found = f"{folder}: there is no {MANIFEST}, so no finished results to audit"
        raise DataError(f"{found}; make them with: snakemake --cores 2 {folder}/summary.csv")
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    manifest, sections = look(Path(folder), experiment, sample, seed)
    checks = [check for section in sections.values() for check in section]
    report = {
        "verdict": FAILED if any(check.status == FAILED for check in checks) else PASSED,
        "audited": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {status: sum(check.status == status for check in checks) for status in (PASSED, FAILED, WARNING, NOT_CHECKED)},
        "affected": [list(number) for number in row(n for check in checks if check.status == FAILED for n in check.numbers)],
        "sample": {"documents and queries": sample, "seed": seed} if sample else None,
        "with": {"repository": code_state(), "environment": environment()},
        "manifest": manifest,
        "sections": {name: [asdict(check) for check in section] for name, section in sections.items()},
    }
    write_json(Path(folder) / "audit.json", report)
    write_page("audit.html.j2", Path(folder) / "audit.html", report | {"title": f"Audit: {report['verdict']}"})
    words = for_terminal(report, folder)
    if report["verdict"] == FAILED:
        raise DataError(words)
    return words


def look(folder: Path, experiment: Experiment, sample: int, seed: int) -> tuple[Any, dict[str, list[Check]]]:
    """All checks of a folder; nothing is written.

    Args:
        folder: The results.
        experiment: Says where datasets and models lie.
        sample: Documents and queries of each corpus to encode and search again.
        seed: Of the sample.

    Returns:
        The manifest, and checks by section.
    """
    manifest, root = check_manifest(folder, str(folder))
    sections = {"integrity": root}
    if manifest is None:
        return None, sections
    chain = Chain(folder, str(folder), manifest)

    def section(name: str, find: Callable[[], list[Check]]) -> None:
        """A manifest that was written by others may lack anything."""
        try:
            sections.setdefault(name, []).extend(find())
        except (RecordError, *UNREADABLE) as error:
            repair = chain.again(MANIFEST)
            sections[name].append(
                damaged("the manifest holds what it should", MANIFEST, error, (("all systems", "all datasets"),), repair)
            )

    section("integrity", lambda: check_digests(chain))
    section("integrity", lambda: check_leftovers(chain))
    section("origins", lambda: check_origins(chain, experiment))
    section("provenance", lambda: check_provenance(chain))
    section("recomputation", lambda: check_recomputation(chain))
    section("sample", lambda: _samples(chain, experiment, sample, seed))
    section("published scores", lambda: check_published(chain, experiment))
    return manifest, sections


def _samples(chain: Chain, experiment: Experiment, sample: int, seed: int) -> list[Check]:
    if not sample:
        todo = "snakemake --cores 2 audit --config audit_sample=100"
        return [Check("documents and queries encoded again", NOT_CHECKED, "audit_sample is 0", repair=todo)]
    from beirflow.audit.spot_check import check_samples  # imports torch

    return check_samples(chain, experiment, sample, seed)


def check_provenance(chain: Chain) -> list[Check]:
    """Is it known what computed the results?

    Args:
        chain: What records say.

    Returns:
        A check of the commit, and one of the digests of code in the records.
    """
    repository = part(chain.manifest, "repository", kind=dict)
    commit, clean = part(repository, "commit"), part(repository, "clean")
    name = "the code of the results is known"
    if commit is None:
        checks = [Check(name, WARNING, "no commit: the code was no checkout, or git was not there", "a commit")]
    elif not clean:
        checks = [Check(name, WARNING, f"commit {commit}, with changes that were not committed", "a clean commit")]
    else:
        checks = [Check(name, PASSED, f"commit {commit}, without changes")]
    without = [path for path, record in chain.records.items() if record and not record.get("code")]
    status, found = (
        (WARNING, f"{len(without)} records do not say which code wrote them")
        if without
        else (PASSED, f"{len(chain.records)} records name their code")
    )
    return [*checks, Check("records name their code", status, found, files=tuple(without))]


def for_terminal(report: dict[str, Any], folder: str) -> str:
    """The verdict, what failed, and which numbers are affected.

    Args:
        report: What stands in ``audit.json``.
        folder: The results.

    Returns:
        Lines of text.
    """
    counts = ", ".join(f"{number} {status}" for status, number in report["counts"].items())
    lines = [f"The audit of {folder} {report['verdict']}: {counts}."]
    for section in report["sections"].values():
        for check in section:
            if check["status"] in (FAILED, WARNING):
                lines.append(
                    f"  {check['status']}: {check['name']}: {check['found']}"
                    + (f"; expected: {check['expected']}" if check["expected"] else "")
                )
                lines += [f"    to repair: {check['repair']}"] * bool(check["repair"])
    if report["verdict"] == FAILED:
        affected = ", ".join(f"{system} on {dataset}" for system, dataset in report["affected"])
        lines.append(f"Numbers of the summary that are affected: {affected or 'none'}.")
    return "\n".join([*lines, f"Everything that was looked at: {folder}/audit.html"])
