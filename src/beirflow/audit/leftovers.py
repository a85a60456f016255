"""Files in the folder that do not belong to these results, and files that belong to them and that no record names."""

from pathlib import PurePosixPath

from beirflow.audit.chain import Chain, is_whole
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, SHOWN, WARNING, Check
from beirflow.core import kinds, layout
from beirflow.core.kinds import PATTERNS, TRACES, is_for_reading
from beirflow.core.layout import ARCHIVE, LOG, MANIFEST, RUN, TREC_RUN
from beirflow.core.writing import PARTIAL

RESULTS = tuple(each for each in PATTERNS if each not in (*kinds.FOR_READING, layout.MODEL_OF_DATASET))  # which is a folder
"""Every form that a result can have."""

PLACES = {pattern.partition("/")[0] for pattern in PATTERNS}  # the first part of each path

OF_FILE_MANAGERS = (".DS_Store", "Thumbs.db", "desktop.ini")
"""Names of files that file managers leave in the folders that they show."""

SIGNATURE = f"{MANIFEST}.sig"  # the signature of the manifest, where ``ssh-keygen`` writes it


def check_leftovers(chain: Chain) -> list[Check]:
    """Find what is no plain file, files that no run wrote, those of another configuration, and what was left out."""
    others = _other_results(chain)
    archives = {corpus["archive"] for corpus in chain.corpora.values()}
    unknown: list[str] = []
    earlier: list[str] = []
    unfinished: list[str] = []
    traces: list[str] = []
    meaningless: list[str] = []
    for path in sorted(chain.listing.files):
        if kinds.is_trace(path) and (path.startswith(TRACES) or _is_beside_a_log(chain, path)):
            traces.append(path)
        elif path == SIGNATURE or PurePosixPath(path).name in OF_FILE_MANAGERS:
            meaningless.append(path)
        elif _unfinished(path) and path not in chain.claims:
            unfinished.append(path)
        elif not _belongs(chain, path, archives) and not path.startswith(others):
            (earlier if _is_result(path) else unknown).append(path)
    checks = [*_check_odd(chain, others), *_check_files(chain, unknown, earlier), *_check_unfinished(chain, unfinished)]
    name = "everything in the folder was looked at"
    if traces:
        problem = f"{len(traces)} files say what jobs did and took; nothing names digests of them"
        checks.append(Check(name, NOT_CHECKED, problem, "", tuple(traces[:SHOWN])))
    if meaningless:
        problem = f"{_listed(meaningless)} are no results, and were not opened"
        checks.append(Check(name, NOT_CHECKED, problem, "", tuple(meaningless[:SHOWN])))
    if others:
        checks.append(Check(name, NOT_CHECKED, f"{_listed(others)} are other results", "", others[:SHOWN]))
    return checks


def _check_odd(chain: Chain, others: tuple[str, ...]) -> list[Check]:
    """Links, pipes and the like that no record leads to; those are a failure of their own."""
    name, odd = "results are plain files", {path: what for path, what in chain.listing.odd.items() if not path.startswith(others)}
    needed = {oddity[0] for path in chain.claims if (oddity := chain.listing.oddity(path))}
    stray = [path for path in odd if path not in needed]
    if not stray:
        return []
    problem = f"{_listed([f'{path} is {odd[path]}' for path in stray])}; nothing was followed or opened"
    return [Check(name, FAILED, problem, "only files and folders", tuple(stray[:SHOWN]), (), chain.repairs.aside(stray))]


def _check_files(chain: Chain, unknown: list[str], earlier: list[str]) -> list[Check]:
    name, blind = "no file is left over", [path for path, record in chain.records.items() if record is None]
    if (unknown or earlier) and blind:
        # What is below a record that cannot be read may be needed, so the advice is not to move it away.
        names = [*unknown, *earlier]
        problem = f"it is not known whether {_listed(names)} are needed, since {_listed(blind)} cannot be read"
        return [Check(name, NOT_CHECKED, problem, "", tuple(names[:SHOWN]), (), "repair the records first, and audit again")]
    checks = []
    rules = _rules_of_others(chain)
    of_others = [path for path in unknown if rules and path.partition("/")[0] not in PLACES]
    if of_others:
        problem = (
            f"not checked, since this needs the extension that writes {_listed(of_others)}: nothing here does, or has the rules"
            f" {_listed(rules)}, of which there are logs; no number of the summary depends on these files"
        )
        checks.append(Check(name, NOT_CHECKED, problem, "", tuple(of_others[:SHOWN])))
    if unknown := [path for path in unknown if path not in of_others]:
        problem = f"beirflow writes no such file: {_listed(unknown)}; no number of the summary depends on it"
        checks.append(Check(name, FAILED, problem, "only results", tuple(unknown[:SHOWN]), (), chain.repairs.aside(unknown)))
    if earlier:
        problem = (
            f"nothing that {MANIFEST} names needs {_listed(earlier)}, perhaps of an earlier configuration or an unfinished run"
        )
        checks.append(
            Check(name, WARNING, problem, "only files of these results", tuple(earlier[:SHOWN]), (), chain.repairs.aside(earlier))
        )
    return checks or [Check(name, PASSED, "every file belongs to these results")]


def _rules_of_others(chain: Chain) -> list[str]:
    """Return the rules that have logs in the folder, and that neither the workflow nor an extension has here.

    Where the rules here are not known, the list is empty.
    """
    if not chain.call.codes:
        return []
    folder, ending = layout.LOG.folder(), ".log"
    logs = [path.removeprefix(folder) for path in chain.listing.files if path.startswith(folder) and path.endswith(ending)]
    return sorted({log.partition("/")[0].removesuffix(ending) for log in logs}.difference(chain.call.codes))


def _check_unfinished(chain: Chain, paths: list[str]) -> list[Check]:
    """Warn of files that a job was writing when it was interrupted, or that a run in progress writes."""
    if not paths:
        return []
    files = "file" if len(paths) == 1 else "files"
    problem = f"{len(paths)} unfinished {files} of an interrupted job, on which no result depends: {_listed(paths)}"
    repair = chain.repairs.remove([*dict.fromkeys(map(_unfinished, paths))])
    return [Check("no file is unfinished", WARNING, problem, "", tuple(paths[:SHOWN]), (), repair)]


def _unfinished(path: str) -> str:
    """Return the path up to the file or folder that was being written; empty if it was not."""
    parts = path.split("/")
    last = next((number for number, name in enumerate(parts, 1) if name.startswith(PARTIAL)), 0)
    return "/".join(parts[:last])


def _is_beside_a_log(chain: Chain, path: str) -> bool:
    """Test whether a file has the name of a log in a folder of its own, as one by an observer that is not installed here."""
    return LOG(job=path.partition("/")[2].rpartition(".")[0]) in chain.listing.files


def _other_results(chain: Chain) -> tuple[str, ...]:
    """Folders that hold results of their own: a whole manifest, and nothing that these results need."""
    found = []
    for path in chain.listing.files:
        folder = path.removesuffix(MANIFEST)
        of_its_own = path.endswith(f"/{MANIFEST}") and not any(name.startswith(folder) for name in chain.claims)
        if of_its_own and is_whole(chain.folder / path):
            found.append(folder)
    return tuple(sorted(found))


def _belongs(chain: Chain, path: str, archives: set[str]) -> bool:
    """Test whether a file belongs here: it is named by a record, or is an archive, a run in TREC form, or for reading."""
    if path in chain.claims or path == MANIFEST or is_for_reading(path):
        return True
    if archive := ARCHIVE.names_in(path):
        return archive["archive"] in archives
    run = TREC_RUN.names_in(path)
    return run is not None and RUN(**run) in chain.claims


def _is_result(path: str) -> bool:
    """Test whether a path is one that a rule writes."""
    return any(pattern.names_in(path) is not None for pattern in RESULTS)


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
