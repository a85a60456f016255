"""Is every file the one that was recorded, and is any missing, or left over from something else?"""

from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain, part, read_record
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, RecordError, damaged, row
from beirflow.experiment.manifest import NAME as MANIFEST
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import RECORD_DIGEST, read_json
from beirflow.report.reading_files import NAME as REPORT
from beirflow.report.reading_files import is_view

DELETABLE = ("embeddings/",)
"""What may be deleted to save disk; its digests stay known."""

NEEDED: tuple[tuple[tuple[str, ...], type], ...] = (
    (("configuration", "cutoffs"), list),
    (("configuration", "top_k"), int),
    (("systems",), dict),
    (("datasets",), dict),
    (("repository",), dict),
    (("from_sha256", "metrics"), dict),
)
"""What an audit reads in a manifest."""

TRACES = ("logs/", "benchmarks/")
"""What jobs said, and what they took."""


def check_manifest(folder: Path, shown: str) -> tuple[Any, list[Check]]:
    """Read the root of all digests and compare it with its own.

    Args:
        folder: The results.
        shown: How the folder is called in commands.

    Returns:
        The manifest, or None where it cannot be used; and what was found.
    """
    name, numbers = "the manifest is as it was written", (("all systems", "all datasets"),)
    again = f"rm -f {shown}/{MANIFEST} {shown}/summary.csv; snakemake --cores 2 {shown}/summary.csv"
    try:
        manifest = read_record(folder / MANIFEST)
        for keys, kind in NEEDED:
            part(manifest, *keys, kind=kind)
        for corpora in manifest["datasets"].values():
            for corpus in corpora:
                for key in ("name", "archive", "md5", "drop_self_matches"):
                    part(corpus, key)
    except (RecordError, *UNREADABLE) as error:
        return None, [damaged(name, MANIFEST, error, numbers, again)]
    try:
        read_json(folder / MANIFEST)
    except DataError:
        found = f"its content is not that of its own {RECORD_DIGEST}, {manifest.get(RECORD_DIGEST)}"
        return manifest, [Check(name, FAILED, found, "the bytes that were written", (MANIFEST,), numbers, again)]
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
        file, numbers = chain.folder / path, row(chain.numbers[path])
        if not file.is_file():
            checks.append(_absent(chain, path))
            continue
        digest = file_digest(file)
        wrong = [claim for claim in claims if claim.sha256 != digest]
        good, size = good + (not wrong), size + file.stat().st_size
        if wrong:
            expected = "; ".join(f"{claim.by} says {claim.sha256}" for claim in wrong)
            checks.append(Check(name, FAILED, f"{path} has the sha256 {digest}", expected, (path,), numbers, chain.again(path)))
    return [*checks, Check(name, PASSED, f"{good} files, {size:,} bytes, have the digests that every record of them names")]


def _absent(chain: Chain, path: str) -> Check:
    numbers, by = row(chain.numbers[path]), chain.claims[path][0].by
    if path.startswith(DELETABLE):
        found = f"{path} is not here, perhaps deleted to save disk; its digest in {by} stands, and nothing was compared with it"
        return Check("vectors are as they were recorded", NOT_CHECKED, found, "", (path,), numbers, chain.again(path))
    return Check("no file is missing", FAILED, f"{path} is missing", f"{by} names it", (path,), numbers, chain.again(path))


def check_leftovers(chain: Chain) -> list[Check]:
    """Find what lies in the folder and belongs to none of its results.

    Args:
        chain: What records say.

    Returns:
        A check for every file that is left over, and what was left out.
    """
    views, traces = [], 0
    by_folder: dict[str, list[str]] = {}
    archives = {corpus["archive"] for corpus in chain.corpora.values()}
    for path in _files(chain.folder):
        if path in chain.claims or path == MANIFEST or path.startswith(TRACES):
            traces += path.startswith(TRACES)
        elif is_view(path):
            views += [path] * (not path.startswith("audit."))
        elif not _belongs(chain, path, archives):
            by_folder.setdefault(path.rpartition("/")[0], []).append(path)
    checks = [_left_over(chain, paths) for paths in by_folder.values()]
    if not checks:
        checks.append(Check("no file is left over", PASSED, "every file belongs to these results"))
    checks += _check_views(chain, views)
    if traces:
        checks.append(
            Check("logs and benchmarks", NOT_CHECKED, f"{traces} files say what jobs did and took; nothing names digests of them")
        )
    return checks


def _check_views(chain: Chain, paths: list[str]) -> list[Check]:
    """Compare the files for reading with what was recorded when the report was written; no number depends on them."""
    name, checks, recorded = "files for reading are as they were written", [], dict[str, Any]()
    if REPORT in paths:
        try:
            record = read_json(chain.folder / REPORT)
            recorded, made_from = part(record, "sha256", kind=dict), part(record, "from_sha256", MANIFEST)
            if made_from != file_digest(chain.folder / MANIFEST):
                found, again = "the report was made from other results than these", chain.again(REPORT, goal="report.html")
                checks.append(Check("the report is of these results", WARNING, found, "", (REPORT,), (), again))
        except (DataError, RecordError, *UNREADABLE) as error:
            checks.append(damaged(name, REPORT, error, (), chain.again(REPORT, goal="report.html")))
    digests = {path: file_digest(chain.folder / path) for path in paths if path in recorded}
    wrong = {path: digest for path, digest in digests.items() if digest != recorded[path]}
    for path, digest in wrong.items():
        found, again = f"{path} has the sha256 {digest}; no number depends on it", chain.again(path, goal="report.html")
        checks.append(Check(name, FAILED, found, f"{REPORT} says {recorded[path]}", (path,), (), again))
    if len(digests) > len(wrong):
        checks.append(Check(name, PASSED, f"{len(digests) - len(wrong)} files have the digests that {REPORT} names"))
    if others := tuple(path for path in paths if path not in digests and path != REPORT):
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
    if path.startswith("data/"):
        return path.removeprefix("data/").removesuffix(".zip") in archives
    return path.endswith(".trec.gz") and path.removesuffix(".trec.gz") + ".parquet" in chain.claims


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
