"""The code and the versions that computed the results, as far as they are known here."""

from collections.abc import Iterator
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check, unique
from beirflow.audit.chain.facts import agree
from beirflow.audit.reading import part
from beirflow.core.layout import MANIFEST, RUN_RECORD
from beirflow.run.provenance import code_state, knows_commit

NAME = "the code of the results is known"

OF_A_RUN = ("torch", "transformers", "numpy", "pyarrow")  # packages whose versions a run and the manifest say


def check_provenance(chain: Chain) -> list[Check]:
    """Check commit, digests of code and versions of packages; the code is compared where the commit is that of this checkout."""
    return [_check_commit(chain), *_check_code(chain), *_check_versions(chain)]


def _check_commit(chain: Chain) -> Check:
    repository = part(chain.manifest, "repository", kind=dict)
    commit, clean = part(repository, "commit"), part(repository, "clean")
    if commit is None:
        return Check(NAME, WARNING, "no commit: the code was no checkout, or git was not there", "a commit")
    known = knows_commit(str(commit))
    if known is False:
        return Check(NAME, WARNING, f"commit {commit}, which the checkout here does not have", "a commit that can be looked at")
    if not clean:
        return Check(NAME, WARNING, f"commit {commit}, with changes that were not committed", "a clean commit")
    if known is None:
        return Check(NAME, NOT_CHECKED, f"commit {commit}, without changes, it says; the code here is no checkout of commits")
    return Check(NAME, PASSED, f"commit {commit}, without changes")


def _check_code(chain: Chain) -> Iterator[Check]:
    """Check that every record names its code: that of the rule, where the code here is that of the commit."""
    name, records = "records name their code", {path: each for path, each in chain.records.items() if each}
    without = [path for path, record in records.items() if not record.get("code")]
    if without:
        yield Check(name, WARNING, f"{len(without)} records do not say which code wrote them", files=tuple(without))
    else:
        yield Check(name, PASSED, f"{len(records)} records name their code")
    name, here = "records were written by the code of the commit", code_state()
    if here["commit"] is None or here != {key: chain.manifest["repository"].get(key) for key in here} or not here["clean"]:
        found = "the code here is not that of the commit, so the digests of code in the records are what they say"
        yield Check(name, NOT_CHECKED, found, repair=f"check out {chain.manifest['repository'].get('commit')} and audit again")
        return
    if not chain.call.codes:
        yield Check(name, NOT_CHECKED, "the digests of the code of the rules here are not known")
        return
    others = {}
    for path, record in records.items():
        rule = str(record.get("job", "")).partition("/")[0]
        if (expected := chain.call.codes.get(rule)) is None:
            continue
        chain.note(path, "code", record.get("code"), f"the code of {rule}")
        if record.get("code") != expected:
            others[path] = f"{rule} {record.get('code')}, expected {expected}"
    if others:
        path, found = next(iter(others.items()))
        results = unique(result for each in others for result in chain.results.get(each, ()))
        files, again = tuple(others), chain.repair_command(*(each for each in others if each != MANIFEST))
        yield Check(name, FAILED, f"{len(others)} were not, the first is {path}: {found}", here["commit"], files, results, again)
    else:
        yield Check(name, PASSED, f"{len(records)} records")


def _check_versions(chain: Chain) -> Iterator[Check]:
    """Versions that a run and the manifest say are the same."""
    name, packages = "versions of packages agree", part(chain.manifest, "environment", "packages", kind=dict)
    differ = []
    for system, dataset in chain.evaluated:
        path = RUN_RECORD(system=system, dataset=dataset)
        made = (chain.records.get(path) or {}).get("made", {})
        differ += [
            f"{path} says {package} {made[package]}"
            for package in OF_A_RUN
            if made.get(package) and packages.get(package) and not _same_version(made[package], packages[package])
        ]
    if differ:
        problem = f"{len(differ)} differ from {MANIFEST}, perhaps made in other environments: {'; '.join(differ[:3])}"
        yield Check(name, WARNING, problem, ", ".join(f"{key} {packages.get(key)}" for key in OF_A_RUN))
    else:
        yield Check(name, PASSED, "what runs say is what the manifest says, where both do")


def _same_version(made: Any, installed: Any) -> bool:
    """Test whether two versions are one: torch from PyPI is installed as 2.13.0, and calls itself 2.13.0+cu130."""
    return agree(made, installed) or (isinstance(made, str) and agree(made.partition("+")[0], installed))
