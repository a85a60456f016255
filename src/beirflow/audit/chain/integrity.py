"""Digests of files, compared with those that records state; missing files, and what is no regular file."""

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, SHOWN, UNREADABLE, WARNING, Check, unique
from beirflow.audit.chain.reading import check_statistics
from beirflow.core.digests import file_digest
from beirflow.core.kinds import CHUNKS_OF_REPRESENTATIONS, REPRESENTATIONS

REPRESENTED = "representations are as they were recorded"


def check_digests(chain: Chain) -> list[Check]:
    """Follow the chain, and compare every file that the manifest leads to with every record that names it."""
    chain.follow()
    name, checks, good, size = "files are as they were recorded", list(chain.problems), 0, 0
    deleted: list[str] = []
    absent: list[str] = []
    for path, claims in sorted(chain.claims.items()):
        if path in chain.busy:
            found = f"{path} is being written by a run that is in progress"
            checks.append(Check(name, WARNING, found, "", (path,), undecided=True))
            continue
        if path not in chain.listing.files:
            if _deleted_on_purpose(chain, path):
                deleted.append(path)
            else:
                absent.append(path)
            continue
        digest = file_digest(chain.folder / path)
        wrong = [claim for claim in claims if claim.sha256 != digest]
        good, size = good + (not wrong), size + chain.listing.files[path]
        if wrong:
            expected = "; ".join(f"{claim.by} says {claim.sha256}" for claim in wrong)
            checks.append(chain.failed(name, path, f"{path} has the sha256 {digest}", expected))
        elif path.endswith(".parquet"):
            try:
                check_statistics(chain.folder / path, path)
            except UNREADABLE as error:
                checks.append(chain.unreadable("files are read alike by all readers", path, error))
    checks += [_absent(chain, path) for path in absent[:SHOWN]]
    if further := absent[SHOWN:]:
        problem = f"{len(further):,} further files are missing, e.g. {further[0]}"
        checks.append(Check("no file is missing", FAILED, problem, files=tuple(further)))
    if deleted:
        found = f"{len(deleted)} files were deleted after their search, as keep_representations: false asks, e.g. {deleted[0]}"
        results = unique(result for path in deleted for result in chain.results[path])
        checks.append(Check(REPRESENTED, NOT_CHECKED, found, "", tuple(deleted[:SHOWN]), results))
    return [*checks, Check(name, PASSED, f"{good} files, {size:,} bytes, have the digests that every record of them names")]


def _deleted_on_purpose(chain: Chain, path: str) -> bool:
    """Test whether the configuration of the results drops a file, and nothing else is in its place."""
    temporary = any(pattern.names_in(path) is not None for pattern in CHUNKS_OF_REPRESENTATIONS)
    return temporary and chain.manifest["configuration"].get("keep_representations") is False and not chain.listing.oddity(path)


def _absent(chain: Chain, path: str) -> Check:
    results, by = chain.affected(path), chain.claims[path][0].by
    if odd := chain.listing.oddity(path):
        problem = f"{odd[0]} is {odd[1]}, which is not followed or opened"
        repair = chain.repair_command(odd[0], path)
        return Check("results are plain files", FAILED, problem, f"the file that {by} names", (path,), results, repair)
    if path.startswith(REPRESENTATIONS):
        problem = f"{path} is not here, perhaps deleted to save disk; {by} has its digest, and nothing was compared with it"
        return Check(REPRESENTED, NOT_CHECKED, problem, "", (path,), results, chain.repair_command(path))
    return chain.failed("no file is missing", path, f"{path} is missing", f"{by} names it")
