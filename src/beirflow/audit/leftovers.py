"""Files in the folder that do not belong to these results, or that nothing can be compared with."""

from collections import Counter, defaultdict
from pathlib import PurePosixPath

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, SHOWN, WARNING, Check
from beirflow.audit.folder.reading import is_whole
from beirflow.core import kinds, layout
from beirflow.core.errors import some
from beirflow.core.kinds import PATTERNS, TRACES, exported_run, is_derived
from beirflow.core.layout import ARCHIVE, LOG, MANIFEST, RUN
from beirflow.core.writing import PARTIAL

NAME = "no file is left over"

RESULTS = tuple(each for each in PATTERNS if each not in (*kinds.DERIVED, layout.MODEL_OF_DATASET))  # which is a folder
"""Patterns of all results."""

PLACES = {pattern.partition("/")[0] for pattern in PATTERNS}  # the first part of each path

MEANINGLESS = (".DS_Store", "Thumbs.db", "desktop.ini", f"{MANIFEST}.sig")
"""Names of files that file managers leave, and of the signature of a manifest."""

WORDS = {
    "unknown": (FAILED, "beirflow writes no such file; no number of the summary depends on {}"),
    "of an extension": (NOT_CHECKED, "this needs the extension that writes {}; no number of the summary depends on it"),
    "earlier": (WARNING, "perhaps of an earlier configuration or an unfinished run, since these results need none of them: {}"),
    "unfinished": (WARNING, "an interrupted job was writing {}, on which no result depends"),
    "traces": (NOT_CHECKED, "log and timing files are not covered by digests, so times and memory are as stated: {}"),
    "meaningless": (NOT_CHECKED, "not opened, since they are no results: {}"),
    "other results": (NOT_CHECKED, "files of other results: {}"),
    "unreadable": (NOT_CHECKED, "perhaps needed by a record that cannot be read: {}"),
}
"""By kind of file that no record of these results names, the status and the finding."""


def check_leftovers(chain: Chain) -> list[Check]:
    """Find irregular files, unknown files, files of another configuration, and files that were not checked."""
    others, has_rules = _other_results(chain), _has_rules_of_others(chain)
    archives = {corpus["archive"] for corpus in chain.corpora.values()}
    found = defaultdict[str, list[str]](list)
    for path in sorted(chain.listing.files):
        if not _belongs(chain, path, archives):
            kind = "other results" if path.startswith(others) else _kind(chain, path)
            is_of_others = kind == "unknown" and has_rules and path.partition("/")[0] not in PLACES
            found["of an extension" if is_of_others else kind].append(path)
    if None in chain.records.values():  # an unreadable record may need them: advise nobody to move them away
        found["unreadable"] = found.pop("unknown", []) + found.pop("earlier", [])
    checks = _check_odd(chain, others)
    for kind, (status, words) in ((kind, words) for kind, words in WORDS.items() if found[kind]):
        paths = found[kind]
        todo = "" if status == NOT_CHECKED else chain.aside(paths)
        if kind == "unfinished":
            todo = chain.call.remove(chain.folder, [*dict.fromkeys(map(_unfinished, paths))])
        checks.append(Check(NAME, status, words.format(_listed(chain, paths)), "", tuple(paths[:SHOWN]), (), todo))
    if not any(check.status in (FAILED, WARNING) for check in checks):
        checks.append(Check(NAME, PASSED, "every file belongs to these results"))
    return checks


def _check_odd(chain: Chain, others: tuple[str, ...]) -> list[Check]:
    """Find links, pipes and the like that no record names; named ones fail separately."""
    needed = {oddity[0] for path in chain.claims if (oddity := chain.listing.oddity(path))}
    stray = [path for path in chain.listing.odd if path not in needed and not path.startswith(others)]
    if not stray:
        return []
    problem = f"{some([f'{path} is {chain.listing.odd[path]}' for path in stray])}; nothing was followed or opened"
    todo = chain.aside(stray)
    return [Check("results are plain files", FAILED, problem, "only files and folders", tuple(stray[:SHOWN]), (), todo)]


def _kind(chain: Chain, path: str) -> str:
    """Return the kind of a file that does not belong to these results, a key of :data:`WORDS`."""
    if kinds.is_trace(path) and (path.startswith(TRACES) or _is_beside_a_log(chain, path)):
        return "traces"
    if PurePosixPath(path).name in MEANINGLESS:
        return "meaningless"
    if _unfinished(path):
        return "unfinished"
    return "earlier" if kinds.is_one_of(path, RESULTS) else "unknown"


def _has_rules_of_others(chain: Chain) -> bool:
    """Test whether the folder has logs of rules that are not installed here."""
    start, ending = LOG.folder(), ".log"
    logs = [path.removeprefix(start) for path in chain.listing.files if path.startswith(start) and path.endswith(ending)]
    return bool(chain.call.codes and {log.partition("/")[0].removesuffix(ending) for log in logs}.difference(chain.call.codes))


def _unfinished(path: str) -> str:
    """Return the path up to the unfinished file or folder; empty without one."""
    parts = path.split("/")
    last = next((number for number, name in enumerate(parts, 1) if name.startswith(PARTIAL)), 0)
    return "/".join(parts[:last])


def _is_beside_a_log(chain: Chain, path: str) -> bool:
    """Test whether a file has the name of a log in another folder, as those of an observer that is not installed here."""
    return LOG(job=path.partition("/")[2].rpartition(".")[0]) in chain.listing.files


def _other_results(chain: Chain) -> tuple[str, ...]:
    """Return folders with results of their own: a whole manifest, and nothing that these results need."""
    folders = [path.removesuffix(MANIFEST) for path in chain.listing.files if path.endswith(f"/{MANIFEST}")]
    own = [folder for folder in folders if not any(name.startswith(folder) for name in chain.claims)]
    return tuple(sorted(folder for folder in own if is_whole(chain.folder / folder / MANIFEST)))


def _belongs(chain: Chain, path: str, archives: set[str]) -> bool:
    """Test whether a file belongs here: named by a record, an archive, a run in TREC form, or a derived file."""
    if path in chain.claims or path == MANIFEST or is_derived(path):
        return True
    if archive := ARCHIVE.names_in(path):
        return archive["archive"] in archives
    run = exported_run(path)
    return run is not None and RUN(**run) in chain.claims


def _listed(chain: Chain, paths: list[str]) -> str:
    """Name some files, together where a folder holds nothing else."""
    folded = chain.listing.folded(paths)
    inside = Counter(folder for path in paths for folder in folded if path.startswith(f"{folder}/"))
    return some([f"{name}/ ({inside[name]} files)" if name in inside else name for name in folded])
