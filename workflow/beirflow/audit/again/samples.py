"""Sampled documents and queries, made again by the families that made them."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, Result, unique
from beirflow.audit.chain.reading import check_unpacked, part
from beirflow.audit.chain.setup import Setup
from beirflow.audit.facts.stated import configured_precision
from beirflow.datasets.corpus_files import OWN_CANDIDATES
from beirflow.evaluation.main_measure import main_measure
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import CORPUS, DOCUMENTS, MANIFEST, QRELS, QUERIES, RUN, RUN_RECORD
from beirflow.jobs.by_name import by_name
from beirflow.runs.family import Family
from beirflow.runs.spot_check import NotHereError, SpotCheck, SpotChecks, Subject

WHAT = "documents and queries made again"
"""Name of the check where it cannot be said what would be made again."""

QUERIES_THAT_FOLLOW = 100
"""Queries of each corpus whose ranks are made again from other files of the results."""


def check_samples(chain: Chain, setup: Setup, sample: int, seed: int) -> list[Check]:
    """Make a sample of every system on every corpus again, and return the checks of each family; none if ``sample`` is 0.

    ``setup`` says where models are and on which device to compute.
    """
    if not sample:
        todo = "snakemake --cores 2 audit --config audit_sample=100"
        return [Check(WHAT, NOT_CHECKED, "audit_sample is 0", repair=todo)]
    return _check_all(chain, setup, sample, seed, _spot_checks)


def check_runs_that_follow(chain: Chain, setup: Setup, seed: int) -> list[Check]:
    """Make runs again that follow from other files of the results, whether or not a sample is asked for: no model is needed.

    Returns the checks of fused and of reranked systems, and of runs of elsewhere, on :data:`QUERIES_THAT_FOLLOW` queries of every
    corpus, drawn by ``seed``.
    """
    return _check_all(chain, setup, QUERIES_THAT_FOLLOW, seed, _following)


def _spot_checks(family: Family) -> str | None:
    return family.spot_checks


def _following(family: Family) -> str | None:
    return family.follows


def _check_all(chain: Chain, setup: Setup, sample: int, seed: int, planner: Callable[[Family], str | None]) -> list[Check]:
    """The checks of every run; ``planner`` gives by family what plans them."""
    random = np.random.default_rng(seed)
    checks: list[Check] = []
    for name, dataset in chain.runs:
        try:
            family = part(chain.manifest, "systems", name, "family", kind=str)
            plan = planner(setup.families[family]) if family in setup.families else None
            if plan:
                checks += _check_corpus(chain, setup, name, dataset, sample, random, plan, uses_model=planner is _spot_checks)
            elif planner is _spot_checks:
                problem = f"{name} on {dataset}: there is no way to make systems of the family {family} again"
                checks.append(Check(WHAT, NOT_CHECKED, problem))
        except UNREADABLE as error:
            checks.append(chain.unreadable(WHAT, MANIFEST, error, _affected(chain, name, dataset)))
    return checks


def _check_corpus(
    chain: Chain,
    setup: Setup,
    name: str,
    dataset: str,
    sample: int,
    random: np.random.Generator,
    planner: str,
    *,
    uses_model: bool,
) -> Iterator[Check]:
    recorded = part(chain.manifest, "systems", name, kind=dict)
    _check_files(chain, name, dataset)
    corpus = chain.corpora[dataset]
    row, whole = chain.whole(dataset)
    subject = Subject(
        results=chain.folder,
        system=setup.system_as_stated(name, recorded),
        here=setup.systems.get(name),
        dataset=dataset,
        made=_made(chain, name, dataset),
        top_k=part(chain.manifest, "configuration", "top_k", kind=int),
        main_measure=main_measure(chain.manifest["configuration"]),
        drop_self_matches=corpus["drop_self_matches"],
        chunks=part(chain.record(CORPUS(dataset=dataset)), "chunks", kind=int),
        config={key: setup.config[key] for key in ("device", "token_budget", "jobs_per_gpu", "precision")},
        row=row,
        own_candidates=bool(chain.record(CORPUS(dataset=dataset)).get(OWN_CANDIDATES)),
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
    """Every file that a record, or one that it was made from, names."""
    found = chain.records.get(record) or {}
    names = {*found.get("inputs", ()), *found.get("outputs", ())} - seen
    seen |= names
    for name in names:
        if name.endswith(".json"):
            _behind(chain, name, seen)
    return seen


def _run(chain: Chain, check: SpotCheck, name: str, dataset: str, *, uses_model: bool) -> Check:
    results, repair = _affected(chain, name, dataset), _repair(chain, check.path)
    try:
        with chain.limits.lifted() if uses_model else nullcontext():
            finding = check.run()
    except (NotHereError, BeirflowError) as error:
        return Check(check.name, NOT_CHECKED, f"{name} on {dataset}: {error}")
    except UNREADABLE as error:
        return chain.unreadable(check.name, check.path, error, results, repair=repair)
    if finding.passed:
        return Check(check.name, PASSED, finding.found, finding.expected, drawn=finding.drawn)
    return Check(check.name, FAILED, finding.found, finding.expected, (check.path,), results, repair)


def _affected(chain: Chain, name: str, dataset: str) -> tuple[Result, ...]:
    """The rows of the summary that were computed from a run."""
    return unique(chain.results[RUN(system=name, dataset=dataset)])


def _repair(chain: Chain, path: str) -> str:
    """The command that makes a file again, or all files of a folder."""
    files = [name for name in chain.claims if name == path or name.startswith(f"{path}/")]
    return chain.repair_command(*files or [path])
