"""The manifest, root of all digests: checks of its digest, its form, its published digest and its signature."""

import hmac
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.checks import EVERYTHING, FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, RecordError
from beirflow.audit.folder.reading import part
from beirflow.core.digests import file_digest
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.evaluation.outside_runs import MOST_PLACES

MOST_ROWS = 10_000  # maximum number of systems on datasets; each takes time and memory

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
    name = "the manifest is as it was written"
    try:
        manifest = chain.read_whole(MANIFEST)
        check_form(manifest)
    except UNREADABLE as error:
        return [chain.unreadable(name, MANIFEST, error, [EVERYTHING], repair=chain.repair_command(MANIFEST, SUMMARY))]
    chain.manifest = chain.records[MANIFEST] = manifest
    digest = file_digest(chain.file(MANIFEST))
    found = f"written {manifest['written']}; {MANIFEST} has the sha256 {digest}, which is the one to publish"
    return [Check(name, PASSED, found, files=(MANIFEST,))]


def check_form(manifest: Mapping[str, Any]) -> None:
    """Refuse, with a RecordError, a manifest that would take endless time; ValueError if its time is none."""
    if (rows := len(part(manifest, "inputs", kind=dict))) > MOST_ROWS:
        raise RecordError(f"names {rows:,} metrics, but at most {MOST_ROWS:,} are read")
    configuration = part(manifest, "configuration", kind=dict)
    cutoffs, top_k = part(configuration, "cutoffs", kind=list), part(configuration, "top_k", kind=int)
    if top_k > MOST_PLACES:
        raise RecordError(f"has the top_k {top_k}, expected at most {MOST_PLACES:,}")
    if not cutoffs or not all(isinstance(k, int) and not isinstance(k, bool) and 1 <= k <= top_k for k in cutoffs):
        raise RecordError(f"has the cutoffs {cutoffs}, expected numbers from 1 to top_k, which is {top_k}")
    if datetime.fromisoformat(part(manifest, "written", kind=str)) > datetime.now(UTC) + CLOCKS:
        raise RecordError(f"was written {manifest['written']}, which is in the future")


def check_published_digest(chain: Chain, published: Published) -> list[Check]:
    """Compare the manifest with its published digest and signature; "not checked" where neither is known."""
    checks, file, given = list[Check](), chain.file(MANIFEST), published.manifest_sha256
    name, digest = "the manifest is the one that was published", file_digest(file)
    if given is not None:
        is_same = hmac.compare_digest(digest, given.strip().lower())
        expected = "" if is_same else f"{given}, by manifest_sha256: these are other results than the published ones"
        status, results = (PASSED, ()) if is_same else (FAILED, (EVERYTHING,))
        checks.append(Check(name, status, f"{MANIFEST} has the sha256 {digest}", expected, (MANIFEST,), results))
    if published.manifest_signature is not None:
        checks.append(_check_signature(file, published))
    if not checks:
        found = f"no published digest or signature of {MANIFEST}, sha256 {digest}, was given: other results would not be detected"
        todo = "give `beirflow audit` the published digest, --manifest-sha256, or a signature, --signature"
        checks.append(Check(name, NOT_CHECKED, found, "", (MANIFEST,), (), todo))
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
