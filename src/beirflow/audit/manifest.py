"""The manifest, root of all digests: checks of its digest, its form, its published digest and its signature."""

import hmac
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain, is_whole
from beirflow.audit.checks import EVERYTHING, FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, RecordError
from beirflow.audit.folder.reading import part, read_record
from beirflow.config.manifest import TUNED_ON
from beirflow.core.digests import file_digest
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.core.records import FORMAT, RECORD_DIGEST, format_problem
from beirflow.evaluation.outside_runs import MOST_PLACES

NEEDED: tuple[tuple[tuple[str, ...], type], ...] = (
    (("configuration", "cutoffs"), list),
    (("configuration", "top_k"), int),
    (("configuration", "systems"), list),
    (("configuration", "datasets"), object),
    (("configuration", "precision"), str),
    (("systems",), dict),
    (("datasets",), dict),
    (("repository",), dict),
    (("environment", "packages"), dict),
    (("inputs",), dict),
    (("outputs",), dict),
    (("written",), str),
)
"""Entries of a manifest that an audit reads, with their types."""

MOST_ROWS = 10_000  # maximum number of systems on datasets; each takes time and memory
OF_A_CORPUS = ("name", "row", "forum", "split", "archive", "md5", "drop_self_matches")
"""Entries of each corpus that an audit reads."""

CLOCKS = timedelta(days=1)  # tolerance between the clocks of two machines
NAMESPACE = "file"  # of signatures that ``ssh-keygen -Y sign -n file`` makes


@dataclass(frozen=True)
class Published:
    """Published digest and signature of a manifest."""

    manifest_sha256: str | None = None  # published digest; None if unknown
    manifest_signature: str | None = None  # detached OpenSSH signature; None without one
    allowed_signers: str | None = None  # file of allowed signers, as ssh-keygen reads it


def check_manifest(chain: Chain) -> list[Check]:
    """Read the manifest into the chain and check its own digest; ``chain.manifest`` stays empty if it is unusable."""
    name, again = "the manifest is as it was written", chain.repair_command(MANIFEST, SUMMARY)
    try:
        file = chain.file(MANIFEST)
        manifest = read_record(file)
        if problem := format_problem(manifest):
            return [Check(name, FAILED, f"{MANIFEST} {problem}", f"the format {FORMAT}", (MANIFEST,), (EVERYTHING,))]
        check_form(manifest)
        if part(manifest, "path") != MANIFEST:
            raise RecordError(f"is the record of {manifest['path']!r}")
    except UNREADABLE as error:
        return [chain.unreadable(name, MANIFEST, error, [EVERYTHING], repair=again)]
    chain.manifest = chain.records[MANIFEST] = manifest
    if not is_whole(file):
        problem = f"its content is not that of its own {RECORD_DIGEST}, {manifest.get(RECORD_DIGEST)}"
        return [Check(name, FAILED, problem, "the bytes that were written", (MANIFEST,), (EVERYTHING,), again)]
    problem = f"written {manifest['written']}; {MANIFEST} has the sha256 {file_digest(file)}, which is the one to publish"
    return [Check(name, PASSED, problem, files=(MANIFEST,))]


def check_form(manifest: Mapping[str, Any]) -> None:
    """Check that a manifest has what an audit reads.

    Raises RecordError if it lacks something or has something else in its place, ValueError if its time is none.
    """
    for keys, kind in NEEDED:
        part(manifest, *keys, kind=kind)
    if len(manifest["inputs"]) > MOST_ROWS:
        raise RecordError(f"names {len(manifest['inputs']):,} metrics, but at most {MOST_ROWS:,} are read")
    cutoffs, top_k = manifest["configuration"]["cutoffs"], manifest["configuration"]["top_k"]
    if top_k > MOST_PLACES:
        raise RecordError(f"has the top_k {top_k}, expected at most {MOST_PLACES:,}")
    if not cutoffs or not all(isinstance(k, int) and not isinstance(k, bool) and 1 <= k <= top_k for k in cutoffs):
        raise RecordError(f"has the cutoffs {cutoffs}, expected numbers from 1 to top_k, which is {top_k}")
    tuned_on = part(manifest, TUNED_ON, kind=dict) if TUNED_ON in manifest else {}
    for corpora in (*manifest["datasets"].values(), *tuned_on.values()):
        for corpus in corpora:
            for key in OF_A_CORPUS:
                part(corpus, key)
    if datetime.fromisoformat(manifest["written"]) > datetime.now(UTC) + CLOCKS:
        raise RecordError(f"was written {manifest['written']}, which is in the future")


def check_published_digest(chain: Chain, published: Published) -> list[Check]:
    """Compare the manifest with its published digest and signature; "not checked" where neither is known."""
    checks, file = [], chain.file(MANIFEST)
    digest, results = file_digest(file), (EVERYTHING,)
    if published.manifest_sha256 is not None:
        name, found = "the manifest is the one that was published", f"{MANIFEST} has the sha256 {digest}"
        same = hmac.compare_digest(digest, published.manifest_sha256.strip().lower())
        expected = (
            "" if same else f"{published.manifest_sha256}, by manifest_sha256: these are other results than the published ones"
        )
        checks.append(Check(name, PASSED if same else FAILED, found, expected, (MANIFEST,), () if same else results))
    if published.manifest_signature is not None:
        checks.append(_check_signature(file, published))
    if not checks:
        found = f"no published digest or signature of {MANIFEST}, sha256 {digest}, was given: other results would not be detected"
        todo = "give `beirflow audit` the published digest, --manifest-sha256, or a signature, --signature"
        checks.append(Check("the manifest is the one that was published", NOT_CHECKED, found, "", (MANIFEST,), (), todo))
    return checks


def _check_signature(file: Path, published: Published) -> Check:
    """Check with OpenSSH that one of the allowed signers signed the manifest."""
    name, signature, signers = "the manifest is signed", str(published.manifest_signature), published.allowed_signers
    if signers is None:
        problem = f"allowed_signers is null, so that {signature} could be a signature by anyone"
        expected = "the file of the keys that you trust, with --allowed-signers"
        return Check(name, FAILED, problem, expected, (MANIFEST,), (EVERYTHING,))
    try:
        done = _ssh_keygen(file, "find-principals", "-s", signature, "-f", signers)
        who = done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else ""
        if who:
            done = _ssh_keygen(file, "verify", "-f", signers, "-I", who, "-n", NAMESPACE, "-s", signature)
    except (OSError, subprocess.SubprocessError) as error:
        return Check(name, NOT_CHECKED, f"ssh-keygen could not be run ({error})", "", (MANIFEST,))
    if who and done.returncode == 0:
        return Check(name, PASSED, f"{who} signed {MANIFEST}, by {signature} and {signers}", files=(MANIFEST,))
    problem = f"{signature} is no signature of {MANIFEST} by anyone in {signers}: {(done.stderr or done.stdout).strip()[:200]}"
    return Check(name, FAILED, problem, "a signature by an allowed signer", (MANIFEST,), (EVERYTHING,))


def _ssh_keygen(file: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    with file.open("rb") as content:
        command = ["ssh-keygen", "-Y", *arguments]
        return subprocess.run(command, stdin=content, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
