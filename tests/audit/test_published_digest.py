"""A digest or a signature from elsewhere is what no forger can make again."""

import shutil
import subprocess
from pathlib import Path

import pytest

from beirflow.audit.checks import Check
from beirflow.audit.manifest import Published, check_published_digest
from beirflow.core.digests import file_digest
from forger import FAILED, NOT_CHECKED, PASSED, Forger

NAME = "the manifest is the one that was published"


@pytest.fixture
def signed(forger: Forger, tmp_path: Path) -> Published:
    """A signature of the manifest, and the file that allows its key."""
    key, signers = tmp_path / "key", tmp_path / "allowed signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "author", "-f", str(key)], check=True)
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(forger.path("manifest.json").read_bytes())
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(key), str(manifest)], check=True, stderr=subprocess.DEVNULL
    )
    signers.write_text(f"author@example.org {key.with_suffix('.pub').read_text()}")
    return Published(None, f"{manifest}.sig", str(signers))


def test_the_published_digest_passes_and_every_other_fails(forger: Forger) -> None:
    digest, chain = file_digest(forger.path("manifest.json")), forger.followed()
    for given, status in ((digest, PASSED), (digest.upper(), PASSED), ("0" * 64, FAILED)):
        assert [(check.name, check.status) for check in check_published_digest(chain, Published(given))] == [(NAME, status)]
    checks = forger.checks()
    assert [check.status for check in checks if check.name == NAME] == [NOT_CHECKED]
    assert any(f"has the sha256 {digest}, which is the one to publish" in check.found for check in checks)


def test_whoever_rewrites_everything_fails_with_the_published_digest(elsewhere: Forger) -> None:
    digest = file_digest(elsewhere.path("manifest.json"))
    elsewhere.edit_table("runs/tiny/small.parquet", lambda run: run.assign(score=run["score"] * 2))
    elsewhere.digest_summary_again()
    assert elsewhere.failed(manifest_sha256=digest)


def test_a_signature_passes_and_one_of_another_manifest_or_by_another_key_fails(forger: Forger, signed: Published) -> None:
    def checked(**given: str | None) -> Check:
        (found,) = check_published_digest(forger.followed(), Published(**given))
        assert found.name == "the manifest is signed"
        return found

    given = {"manifest_signature": signed.manifest_signature, "allowed_signers": signed.allowed_signers}
    found = checked(**given)
    assert (found.status, found.found.startswith("author@example.org signed manifest.json")) == (PASSED, True)
    signers = Path(str(signed.allowed_signers))
    before = signers.read_text()
    signers.write_text("other@example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0000000000000000000000000000000000000000000\n")
    assert checked(**given).status == FAILED
    signers.write_text(before)
    forger.edit("manifest.json", written="2020-01-01T00:00:00+00:00")
    assert checked(**given).status == FAILED
    assert checked(manifest_signature="/nowhere.sig", allowed_signers="/nowhere").status == FAILED
    found = checked(manifest_signature=signed.manifest_signature)
    assert (found.status, "allowed_signers is null" in found.found) == (FAILED, True)


def test_a_stranger_verifies_signed_results_that_were_moved_and_finds_what_was_rewritten_after_signing(
    forger: Forger, signed: Published, tmp_path: Path
) -> None:
    moved = tmp_path / "another machine" / "of a stranger"
    shutil.copytree(forger.results, moved)
    stranger = Forger(moved)
    given = {"manifest_signature": signed.manifest_signature, "allowed_signers": signed.allowed_signers}
    checks = stranger.checks(**given)
    assert [check for check in checks if check.status == FAILED] == []
    assert [check.status for check in checks if check.name == "the manifest is signed"] == [PASSED]
    stranger.edit_table("runs/tiny/small.parquet", lambda run: run.assign(score=run["score"] * 2))
    stranger.digest_summary_again()
    assert "the manifest is signed" in {check.name for check in stranger.failed(**given)}
