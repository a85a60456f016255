"""Is every file the one that was recorded, and is any missing, or left over from something else?"""

from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain, part, read_record
from beirflow.audit.checks import EVERYTHING, FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, unique, unreadable
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.layout import (
    ARCHIVE,
    AUDIT,
    AUDIT_RECORD,
    MANIFEST,
    REPORT,
    REPORT_RECORD,
    REPRESENTATIONS,
    RUN,
    SUMMARY,
    TRACES,
    TREC_RUN,
    is_for_reading,
)
from beirflow.files.records import RECORD_DIGEST, read_json

NEEDED: tuple[tuple[tuple[str, ...], type], ...] = (
    (("configuration", "cutoffs"), list),
    (("configuration", "top_k"), int),
    (("systems",), dict),
    (("datasets",), dict),
    (("repository",), dict),
    (("inputs",), dict),
    (("outputs",), dict),
)
"""What an audit reads in a manifest."""


def check_manifest(folder: Path, shown: str) -> tuple[Any, list[Check]]:
    """Read the root of all digests and compare it with its own.

    Args:
        folder: The results.
        shown: The folder as written in commands.

    Returns:
        The manifest, or None where it cannot be used; and what was found.
    """
    name, results = "the manifest is as it was written", (EVERYTHING,)
    again = f"rm -f {shown}/{MANIFEST} {shown}/{SUMMARY}; snakemake --cores 2 {shown}/{SUMMARY}"
    try:
        manifest = read_record(folder / MANIFEST)
        for keys, kind in NEEDED:
            part(manifest, *keys, kind=kind)
        for corpora in manifest["datasets"].values():
            for corpus in corpora:
                for key in ("name", "archive", "md5", "drop_self_matches"):
                    part(corpus, key)
    except UNREADABLE as error:
        return None, [unreadable(name, MANIFEST, error, results, again)]
    try:
        read_json(folder / MANIFEST)
    except DataError:
        found = f"its content is not that of its own {RECORD_DIGEST}, {manifest.get(RECORD_DIGEST)}"
        return manifest, [Check(name, FAILED, found, "the bytes that were written", (MANIFEST,), results, again)]
    found = f"written {manifest.get('written')}; {RECORD_DIGEST} {manifest[RECORD_DIGEST]}"
    return manifest, [Check(name, PASSED, found, files=(MANIFEST,))]


def check_digests(chain: Chain) -> list[Check]:
    """Compare every file that the manifest leads to with every record that names it.

    Args:
        chain: Is followed from the manifest down.

    Returns:
        A check for every file that is not as recorded or is absent, and one for all that are.
    """
    chain.follow()
    name, checks, good, size = "files are as they were recorded", list(chain.problems), 0, 0
    for path, claims in sorted(chain.claims.items()):
        file, results = chain.folder / path, unique(chain.results[path])
        if not file.is_file():
            checks.append(_absent(chain, path))
            continue
        digest = file_digest(file)
        wrong = [claim for claim in claims if claim.sha256 != digest]
        good, size = good + (not wrong), size + file.stat().st_size
        if wrong:
            expected = "; ".join(f"{claim.by} says {claim.sha256}" for claim in wrong)
            checks.append(
                Check(name, FAILED, f"{path} has the sha256 {digest}", expected, (path,), results, chain.repair_command(path))
            )
    return [*checks, Check(name, PASSED, f"{good} files, {size:,} bytes, have the digests that every record of them names")]


def _absent(chain: Chain, path: str) -> Check:
    results, by = unique(chain.results[path]), chain.claims[path][0].by
    if path.startswith(REPRESENTATIONS):
        found = f"{path} is not here, perhaps deleted to save disk; {by} has its digest, and nothing was compared with it"
        name = "representations are as they were recorded"
        return Check(name, NOT_CHECKED, found, "", (path,), results, chain.repair_command(path))
    return Check(
        "no file is missing", FAILED, f"{path} is missing", f"{by} names it", (path,), results, chain.repair_command(path)
    )


def check_leftovers(chain: Chain) -> list[Check]:
    """Find files in the folder that belong to none of its results.

    Args:
        chain: What records say.

    Returns:
        A check for every file that is left over, and what was left out.
    """
    for_reading, traces = [], 0
    by_folder: dict[str, list[str]] = {}
    archives = {corpus["archive"] for corpus in chain.corpora.values()}
    for path in _files(chain.folder):
        if path in chain.claims or path == MANIFEST or path.startswith(TRACES):
            traces += path.startswith(TRACES)
        elif is_for_reading(path):
            for_reading += [path] * (path not in (AUDIT, AUDIT_RECORD))
        elif not _belongs(chain, path, archives):
            by_folder.setdefault(path.rpartition("/")[0], []).append(path)
    checks = [_left_over(chain, paths) for paths in by_folder.values()]
    if not checks:
        checks.append(Check("no file is left over", PASSED, "every file belongs to these results"))
    checks += _check_files_for_reading(chain, for_reading)
    if traces:
        checks.append(
            Check("logs and benchmarks", NOT_CHECKED, f"{traces} files say what jobs did and took; nothing names digests of them")
        )
    return checks


def _check_files_for_reading(chain: Chain, paths: list[str]) -> list[Check]:
    """Compare the files for reading with what was recorded when the report was written; no number depends on them."""
    name, checks, recorded = "files for reading are as they were written", [], dict[str, Any]()
    if REPORT_RECORD in paths:
        try:
            record = read_json(chain.folder / REPORT_RECORD)
            recorded, made_from = part(record, "outputs", kind=dict), part(record, "inputs", MANIFEST)
            if made_from != file_digest(chain.folder / MANIFEST):
                found, again = (
                    "the report was made from other results than these",
                    chain.repair_command(REPORT_RECORD, goal=REPORT),
                )
                checks.append(Check("the report is of these results", WARNING, found, "", (REPORT_RECORD,), (), again))
        except UNREADABLE as error:
            checks.append(unreadable(name, REPORT_RECORD, error, (), chain.repair_command(REPORT_RECORD, goal=REPORT)))
    digests = {path: file_digest(chain.folder / path) for path in paths if path in recorded}
    wrong = {path: digest for path, digest in digests.items() if digest != recorded[path]}
    for path, digest in wrong.items():
        found, again = f"{path} has the sha256 {digest}; no number depends on it", chain.repair_command(path, goal=REPORT)
        checks.append(Check(name, FAILED, found, f"{REPORT_RECORD} says {recorded[path]}", (path,), (), again))
    if len(digests) > len(wrong):
        checks.append(Check(name, PASSED, f"{len(digests) - len(wrong)} files have the digests that {REPORT_RECORD} names"))
    if others := tuple(path for path in paths if path not in digests and path != REPORT_RECORD):
        found = f"{len(others)} files for reading, which no number depends on, are not compared with anything"
        todo = f"to be sure, make them again: rm {chain.shown}/{others[0]} …"
        checks.append(Check("files for reading", NOT_CHECKED, found, "", others, (), todo))
    return checks


def _left_over(chain: Chain, paths: list[str]) -> Check:
    """Files of one folder that belong to nothing."""
    names = ", ".join(paths[:5]) + (f" and {len(paths) - 5} others" if len(paths) > 5 else "")
    found = f"nothing that {MANIFEST} names needs {names}; no number of the summary depends on it"
    todo = "rm " + " ".join(f"{chain.shown}/{path}" for path in paths)
    return Check("no file is left over", FAILED, found, "only files of these results", tuple(paths), (), todo)


def _belongs(chain: Chain, path: str, archives: set[str]) -> bool:
    """Whether a file that no record names has a place here: an archive, a run in TREC form."""
    if archive := ARCHIVE.names_in(path):
        return archive["archive"] in archives
    run = TREC_RUN.names_in(path)
    return run is not None and RUN(**run) in chain.claims


def _files(folder: Path) -> list[str]:
    """Paths of all files below a folder, but for results of other experiments inside it."""
    found, waiting, seen = [], [folder], set()
    while waiting:
        current = waiting.pop()
        for path in current.iterdir():
            if not path.is_dir():
                found.append(path.relative_to(folder).as_posix())
            elif path.resolve() not in seen and not (path / MANIFEST).is_file():
                seen.add(path.resolve())
                waiting.append(path)
    return sorted(path for path in found if not path.endswith(".gitkeep"))
