"""Plan of the results: the jobs that make them, compared with the files and the code that records name."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, SHOWN, WARNING, Check, unique
from beirflow.audit.configured import Configured
from beirflow.core import layout
from beirflow.core.errors import some
from beirflow.core.kinds import is_derived, is_one_of
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.run.provenance import code_state
from beirflow.run.scratch import Scratch

NAME = "records name the files of their jobs"

CANDIDATES = (layout.CANDIDATES, layout.CANDIDATES_RECORD)
TEMPORARY = (*CANDIDATES, layout.ARCHIVE)
"""Files that Snakemake deletes after use."""


def check_plan(chain: Chain, configured: Configured, place: Scratch) -> Iterator[Check]:
    """Compare the files and the code in the records with those of the jobs of these results."""
    if configured.unknown:
        families = ", ".join(sorted(set(configured.unknown.values())))
        yield Check(NAME, NOT_CHECKED, f"this needs the extension of {', '.join(configured.unknown)}, of the family {families}")
        return
    jobs = _jobs(place)
    folders = tuple(f"{path}/" for path in jobs if not Path(path).suffix)  # of trained models
    own = {path: next((folder[:-1] for folder in folders if path.startswith(folder)), path) for path in chain.claims}
    further = dict[str, list[str]]()  # by record
    for path in (path for path in chain.claims if own[path] not in jobs and not is_derived(path)):
        further.setdefault(next(iter(chain.claims[path].values())), []).append(path)
    for by, paths in further.items():
        yield chain.failed(NAME, by, f"{by} names {some(paths, 3)}", "files that the jobs of these results read or make")
    unnamed = [path for path in sorted(jobs.keys() - {MANIFEST, *own.values()}) if not is_one_of(path, TEMPORARY)]
    if unnamed and None not in chain.records.values():  # below a record that cannot be read, any may be named
        # No repair, since to move these files away may cost days of work.
        found = f"no record names {len(unnamed)} files that jobs make, e.g. {', '.join(unnamed[:3])}"
        yield Check(NAME, FAILED, found, "records of what was made from them", tuple(unnamed[:SHOWN]))

    @cache
    def before(path: str) -> frozenset[str]:
        """Return the files that lead to one, with all that their jobs make."""
        direct = place.inputs(jobs[path]) if path in jobs else []
        beside = [other for each in direct if each in jobs for other in place.outputs(jobs[each])]
        return frozenset([*direct, *beside]).union(*map(before, direct))

    for path, record in chain.records.items():
        if record and path in jobs and (more := [each for each in record["inputs"] if own.get(each) not in before(path)]):
            yield chain.failed(NAME, path, f"{path} names as inputs {', '.join(more[:3])}", "inputs of its job")
    yield Check(NAME, PASSED, f"{len(chain.claims)} files of {len({id(job) for job in jobs.values()})} jobs")
    yield _check_code(chain, jobs)


def _jobs(place: Scratch) -> dict[str, Any]:
    """Return the jobs that the summary depends on, by each file that they make."""
    jobs: dict[str, Any] = {}
    waiting: list[str] = [SUMMARY]
    while waiting:
        path = waiting.pop()
        if path not in jobs and (job := place.job(path)):
            jobs |= dict.fromkeys(place.outputs(job), job)
            waiting += place.inputs(job)
    return jobs


def _check_code(chain: Chain, jobs: Mapping[str, Any]) -> Check:
    """Compare the code in the records with the code here; it must be the same for the same clean commit."""
    name, here, there = "records were written by the code that is here", code_state(), chain.manifest["repository"]
    records = {path: record for path, record in chain.records.items() if record and path in jobs}
    codes = {path: (record.get("code"), jobs[path].params.get("code")) for path, record in records.items()}
    others = [path for path, (recorded, code) in codes.items() if code and recorded != code]
    if not others:
        return Check(name, PASSED, f"{len(records)} records")
    recorded, code = codes[others[0]]
    found = f"{len(others)} of {len(records)} were not, e.g. {others[0]}: code {recorded}, here {code}"
    if here["commit"] and here["clean"] and here == {key: there.get(key) for key in here}:
        results = unique(result for path in others for result in chain.results.get(path, ()))
        return Check(name, FAILED, found, "", tuple(others[:SHOWN]), results, chain.repair_command(*others[:SHOWN]))
    repair = f"check out {there.get('commit')} and audit again"
    return Check(name, WARNING, found, "", tuple(others[:SHOWN]), (), repair)
