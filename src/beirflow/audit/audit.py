"""Audit a folder of results: check everything, change nothing, and write down the findings."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain, check_digests
from beirflow.audit.checks import EVERYTHING, FAILED, NOT_CHECKED, PASSED, WARNING, Check, unique
from beirflow.audit.configured import check_configured, configured_experiment
from beirflow.audit.folder.limits import LimitError
from beirflow.audit.folder.listing import printable
from beirflow.audit.leftovers import check_leftovers
from beirflow.audit.manifest import Published, check_manifest, check_published_digest
from beirflow.audit.published import check_published
from beirflow.audit.repairs import Call
from beirflow.audit.replay.replay import check_replay
from beirflow.audit.sample.sample import check_samples
from beirflow.audit.verdict import findings, for_terminal, grades, not_checked, proved, verdict_line
from beirflow.config.experiment import Experiment
from beirflow.core.errors import DataError, VerdictError
from beirflow.core.layout import AUDIT, AUDIT_RECORD, MANIFEST, SUMMARY
from beirflow.core.records import write_json
from beirflow.report.pages import write_page
from beirflow.run.provenance import code_state, environment

SEED_BITS = 32

Sections = dict[str, list[Check]]


def audit(
    *,
    folder: str,
    experiment: Experiment,
    audited: str | None = None,
    sample: int = 0,
    seed: int | None = None,
    call: Call | None = None,
    published: Published | None = None,
) -> str:
    """Check a folder of results; write ``audit.json`` and ``audit.html``.

    Args:
        folder: The folder for these files.
        experiment: The configuration of the auditor, with the places of datasets and models. The manifest has that of the
            results.
        audited: The results, which are only read if they are not in ``folder``, where they are if None.
        sample: Documents and queries of each corpus to encode and search again; none if 0.
        seed: Seed of the sample; drawn and recorded if None, so that the checked items cannot be known beforehand.
        call: Command line of the audit, for repair commands; one in this folder if None.
        published: Published digest and signature of the manifest; neither if None.

    Returns:
        The findings, for the terminal.

    Raises:
        VerdictError: A check failed; everything has been written then.
        DataError: There are no results.
    """
    call, audited = call or Call(), audited or folder
    if audited != folder:
        call = replace(call, config={**call.config, "results": audited})  # where a repair writes
    if not (Path(audited) / MANIFEST).is_file():
        todo = f"make them with: {call.snakemake([f'{folder}/{SUMMARY}'])}"
        if audited != folder:
            todo = f"name the folder of a manifest, such as {Path(audited, 'results')}"
        raise DataError(f"{audited}: there is no {MANIFEST}, so no finished results to audit; {todo}")
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    chain, sections = run_checks(Path(audited), experiment, sample, seed, call=call, published=published)
    checks = [check for section in sections.values() for check in section]
    steps = grades(sections)
    report = {
        **({"folder": audited} if audited != folder else {}),
        "verdict": FAILED if any(check.status == FAILED for check in checks) else PASSED,
        "grades": steps,
        "line": verdict_line(steps),
        "audited": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": {status: sum(check.status == status for check in checks) for status in (PASSED, FAILED, WARNING, NOT_CHECKED)},
        "proved": proved(sections),
        "not_checked": not_checked(sections),
        "findings": findings(sections, chain.repair_command),
        "affected": [list(result) for result in unique(n for check in checks if check.status == FAILED for n in check.results)],
        "sample": {"documents and queries": sample, "seed": seed} if sample else None,
        "with": {"repository": code_state(), "environment": environment()},
        "manifest": chain.manifest or None,
        "sections": {name: [asdict(check) for check in section] for name, section in sections.items()},
    }
    report = _printable(report)
    page, title = f"{folder}/{AUDIT}", f"Audit of {report['folder']}" if audited != folder else "Audit"
    try:
        write_json(Path(folder) / AUDIT_RECORD, report)
        write_page("audit.html.j2", Path(page), report | {"title": f"{title}: {report['verdict']}"})
    except OSError as error:  # results may be read-only; the verdict matters more than its page
        page = f"{page} could not be written ({error.strerror})"
    words = for_terminal(report, audited, page)
    if report["verdict"] == FAILED:
        raise VerdictError(words)
    return words


def run_checks(
    folder: Path, experiment: Experiment, sample: int, seed: int, *, call: Call | None = None, published: Published | None = None
) -> tuple[Chain, Sections]:
    """Return the chain, without a manifest where it cannot be used, and all checks by section; write nothing into the folder."""
    chain, published = Chain(folder, call=call or Call()), published or Published()
    configured = cache(lambda: configured_experiment(chain, experiment))
    # Later checks rely on the digests that earlier ones compare.
    plan: list[tuple[str, Callable[[], Iterable[Check]]]] = [
        ("chain", partial(check_published_digest, chain, published)),
        ("chain", partial(check_digests, chain)),
        ("chain", partial(check_leftovers, chain)),
        ("configuration", partial(check_configured, chain, experiment)),
        ("replay", lambda: check_replay(chain, configured())),
        ("sample", lambda: check_samples(chain, configured(), sample, seed)),
        ("published scores", partial(check_published, chain, experiment)),
    ]
    sections: Sections = {"chain": []}
    try:
        with chain.limits:
            sections["chain"] += check_manifest(chain)
            for name, check in plan if chain.manifest else ():
                # A manifest that was written by others may lack anything.
                sections.setdefault(name, []).extend(chain.guarded(f"{name} can be checked", MANIFEST, check))
    except LimitError as error:
        sections["chain"].append(Check("files can be read", FAILED, str(error), results=(EVERYTHING,)))
    return chain, sections


def _printable(value: Any) -> Any:
    """Escape unprintable characters in all texts of a value: file names may contain anything."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {_printable(key): _printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(each) for each in value]
    return value
