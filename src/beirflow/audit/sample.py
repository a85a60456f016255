"""Sampled documents and queries, made again by the families that made them."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check
from beirflow.audit.reading import check_unpacked, part
from beirflow.audit.facts.stated import configured_precision
from beirflow.config.main_measure import main_measure
from beirflow.core.errors import BeirflowError
from beirflow.core.layout import CORPUS, DOCUMENTS, MANIFEST, QRELS, QUERIES, RUN, RUN_RECORD
from beirflow.data.corpus_files import OWN_CANDIDATES
from beirflow.families.spot_checks.spot_check import NotHereError, SpotCheck, SpotChecks, Subject
from beirflow.run.by_name import by_name

WHAT = "documents and queries made again"  # name of the check where it cannot be said what would be made again
QUERIES_THAT_FOLLOW = 100
"""Queries of each corpus whose ranks are made again from other files of the results; more if a larger sample is asked for."""


def check_samples(chain: Chain, sample: int, seed: int) -> list[Check]:
    """Make a sample of every system on every corpus again, and return the checks of each family; none if ``sample`` is 0."""
    if not sample:
        found = "the sample is 0; what models made of texts, and how many they cut, is as stated"
        todo = "snakemake --cores 2 --config 'command={audit: {sample: 100}}' -- audit"
        return [Check(WHAT, NOT_CHECKED, found, repair=todo)]
    return _check_all(chain, sample, seed, uses_model=True)


def check_runs_that_follow(chain: Chain, sample: int, seed: int) -> list[Check]:
    """Make runs again from other files of the results, such as postings, also without a sample: no model is needed."""
    return _check_all(chain, max(sample, QUERIES_THAT_FOLLOW), seed, uses_model=False)


def _check_all(chain: Chain, sample: int, seed: int, *, uses_model: bool) -> list[Check]:
    """Check every run."""
    random = np.random.default_rng(seed)
    checks: list[Check] = []
    for name, dataset in chain.runs:
        try:
            unknown = chain.setup.unknown_in(entry := part(chain.manifest, "systems", name, kind=dict))
            family = None if unknown else chain.setup.families[entry["family"]]
            plan = family and (family.spot_checks if uses_model else family.follows)
            if plan:
                checks += _check_corpus(chain, name, dataset, sample, random, plan, uses_model=uses_model)
            elif uses_model and not (family and family.follows):
                kind = unknown or entry["family"]
                problem = f"{name} on {dataset}: there is no way to make systems of the family {kind} again"
                checks.append(Check(WHAT, NOT_CHECKED, problem))
        except UNREADABLE as error:
            checks.append(chain.unreadable(WHAT, MANIFEST, error, chain.affected(RUN(system=name, dataset=dataset))))
    return checks


def _check_corpus(
    chain: Chain, name: str, dataset: str, sample: int, random: np.random.Generator, planner: str, *, uses_model: bool
) -> Iterator[Check]:
    _check_files(chain, name, dataset)
    record, corpus, (row, whole) = chain.record(CORPUS(dataset=dataset)), chain.corpora[dataset], chain.whole(dataset)
    subject = Subject(
        results=chain.folder,
        system=chain.setup.system_as_stated(name, part(chain.manifest, "systems", name, kind=dict)),
        here=chain.setup.systems.get(name),
        dataset=dataset,
        made=_made(chain, name, dataset),
        top_k=part(chain.manifest, "configuration", "top_k", kind=int),
        main_measure=main_measure(chain.manifest["configuration"]),
        drop_self_matches=corpus["drop_self_matches"],
        chunks=part(record, "chunks", kind=int),
        config={key: chain.setup.config[key] for key in ("device", "token_budget", "jobs_per_gpu", "precision")},
        row=row,
        own_candidates=bool(record.get(OWN_CANDIDATES)),
        whole=whole,
    )
    with chain.limits.lifted() if uses_model else nullcontext():
        plan: SpotChecks = by_name(planner)  # imported only now: it may need torch
    for check in plan(subject, sample, random):
        yield _run(chain, check, name, dataset, uses_model=uses_model)


def _made(chain: Chain, name: str, dataset: str) -> dict[str, Any]:
    """Return the facts of a run's making; a precision that it states itself widens no tolerance if another was configured."""
    made = part(chain.record(RUN_RECORD(system=name, dataset=dataset)), "made", kind=dict)
    configured = configured_precision(chain, name)
    return made if configured is None else {**made, "precision": configured}


def _check_files(chain: Chain, name: str, dataset: str) -> None:
    """Make sure that what a family opens can be opened, and does not fill memory."""
    for pattern in (RUN, DOCUMENTS, QUERIES, QRELS):
        chain.file(pattern(system=name, dataset=dataset))
    for path in sorted(_behind(chain, RUN_RECORD(system=name, dataset=dataset), set())):
        if chain.listing.oddity(path):
            chain.file(path)
        if path in chain.listing.files and path.endswith((".arrow", ".parquet")) and path not in chain.unpacked:
            check_unpacked(chain.file(path), path)
            chain.unpacked.add(path)


def _behind(chain: Chain, record: str, seen: set[str]) -> set[str]:
    """Return every file that a record, or one that it was made from, names."""
    found = chain.records.get(record) or {}
    names = {*found.get("inputs", ()), *found.get("outputs", ())} - seen
    seen |= names
    for name in names:
        if name.endswith(".json"):
            _behind(chain, name, seen)
    return seen


def _run(chain: Chain, check: SpotCheck, name: str, dataset: str, *, uses_model: bool) -> Check:
    results, repair = chain.affected(RUN(system=name, dataset=dataset)), _repair(chain, check.path)
    try:
        with chain.limits.lifted() if uses_model else nullcontext():
            finding = check.run()
    except (NotHereError, BeirflowError) as error:
        return Check(check.name, NOT_CHECKED, f"{name} on {dataset}: {error}", results=results)
    except UNREADABLE as error:
        return chain.unreadable(check.name, check.path, error, results, repair=repair)
    if finding.passed:
        return Check(check.name, PASSED, finding.found, finding.expected, drawn=finding.drawn)
    return Check(check.name, FAILED, finding.found, finding.expected, (check.path,), results, repair)


def _repair(chain: Chain, path: str) -> str:
    """Return the command that makes a file again, or all files of a folder."""
    files = [name for name in chain.claims if name == path or name.startswith(f"{path}/")]
    return chain.repair_command(*files or [path])
