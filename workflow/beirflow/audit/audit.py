"""Audit a folder of results: look at everything, change nothing, and write down what was found."""

import secrets
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain, part
from beirflow.audit.checks import EVERYTHING, FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, unique, unreadable
from beirflow.audit.integrity import check_digests, check_leftovers, check_manifest
from beirflow.audit.published import check_published
from beirflow.audit.recomputation import check_recomputation
from beirflow.audit.samples import check_samples
from beirflow.audit.sources import check_sources
from beirflow.experiment.experiment import Experiment
from beirflow.files.errors import DataError
from beirflow.files.layout import AUDIT, AUDIT_RECORD, MANIFEST, SUMMARY
from beirflow.files.records import write_json
from beirflow.jobs.provenance import code_state, environment
from beirflow.report.pages import write_page

SEED_BITS = 32


def audit(*, folder: str, experiment: Experiment, sample: int = 0, seed: int | None = None) -> str:
    """Check a folder of results and write ``audit.json`` and ``audit.html`` into it.

    Args:
        folder: The results.
        experiment: The configuration of the person who audits: where datasets and models are. The manifest says what was
            configured for the results.
        sample: Documents and queries of each corpus to encode and search again; none if 0.
        seed: Of the sample; drawn and written down if None, so that nobody can know beforehand what will be looked at.

    Returns:
        What was found, for reading on a terminal.

    Raises:
        DataError: A check failed; everything has been written then.
    """
    if not (Path(folder) / MANIFEST).is_file():
        found = f"{folder}: there is no {MANIFEST}, so no finished results to audit"
        raise DataError(f"{found}; make them with: snakemake --cores 2 {folder}/{SUMMARY}")
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    manifest, sections = run_checks(Path(folder), experiment, sample, seed)
    checks = [check for section in sections.values() for check in section]
    report = {
        "verdict": FAILED if any(check.status == FAILED for check in checks) else PASSED,
        "audited": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {status: sum(check.status == status for check in checks) for status in (PASSED, FAILED, WARNING, NOT_CHECKED)},
        "affected": [list(result) for result in unique(n for check in checks if check.status == FAILED for n in check.results)],
        "sample": {"documents and queries": sample, "seed": seed} if sample else None,
        "with": {"repository": code_state(), "environment": environment()},
        "manifest": manifest,
        "sections": {name: [asdict(check) for check in section] for name, section in sections.items()},
    }
    write_json(Path(folder) / AUDIT_RECORD, report)
    write_page("audit.html.j2", Path(folder) / AUDIT, report | {"title": f"Audit: {report['verdict']}"})
    words = for_terminal(report, folder)
    if report["verdict"] == FAILED:
        raise DataError(words)
    return words


def run_checks(folder: Path, experiment: Experiment, sample: int, seed: int) -> tuple[Any, dict[str, list[Check]]]:
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

    for name, check in (
        ("integrity", check_digests),
        ("integrity", check_leftovers),
        ("sources", partial(check_sources, experiment=experiment)),
        ("provenance", check_provenance),
        ("recomputation", check_recomputation),
        ("sample", partial(check_samples, experiment=experiment, sample=sample, seed=seed)),
        ("published scores", partial(check_published, experiment=experiment)),
    ):
        try:
            found = check(chain)
        except UNREADABLE as error:  # a manifest that was written by others may lack anything
            what, again = "the manifest holds what it should", chain.repair_command(MANIFEST)
            found = [unreadable(what, MANIFEST, error, [EVERYTHING], again)]
        sections.setdefault(name, []).extend(found)
    return manifest, sections


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
    """The verdict, what failed, and which results are affected.

    Args:
        report: The content of ``audit.json``.
        folder: The results.

    Returns:
        Lines of text.
    """
    counts = ", ".join(f"{result} {status}" for status, result in report["counts"].items())
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
    return "\n".join([*lines, f"Everything that was looked at: {folder}/{AUDIT}"])
