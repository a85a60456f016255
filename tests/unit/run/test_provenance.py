"""Code and machine of a result are written down, as far as they can be known."""

import getpass
import os
import pwd
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from beirflow.run import provenance


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True).stdout.strip()


state_now = provenance.code_state.__wrapped__
"""The state of a folder whatever it was before."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "workflow").mkdir(parents=True)
    (folder / "Snakefile").write_text("")
    (folder / "workflow/a.py").write_text("")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


def test_a_checkout_has_a_commit_and_is_clean_until_code_changes(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout / "notes.txt").write_text("no code")
    assert state_now(checkout) == {"commit": commit, "clean": True}
    (checkout / "workflow/b.py").write_text("")
    assert state_now(checkout) == {"commit": commit, "clean": False}
    (checkout / "workflow/b.py").unlink()
    (checkout / "Snakefile").write_text("edited")
    assert state_now(checkout) == {"commit": commit, "clean": False}


def test_what_is_no_checkout_has_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = {"commit": None, "clean": None}
    copy = checkout / "copy"
    shutil.copytree(checkout / "workflow", copy / "workflow")
    (copy / "Snakefile").write_text("")
    assert state_now(copy) == unknown
    assert state_now(checkout / "nowhere") == unknown
    monkeypatch.setenv("PATH", "")
    assert state_now(checkout) == unknown


def test_a_job_knows_the_command_and_the_time_of_its_run_and_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (provenance.COMMAND, provenance.STARTED):
        monkeypatch.delenv(name, raising=False)
    assert provenance.run_of_this_job() | {"user": None} == {"command": None, "started": None, "user": None}
    monkeypatch.setenv(provenance.COMMAND, "")
    monkeypatch.setenv(provenance.STARTED, "")
    provenance.note_start(["/some/where/snakemake", "--config", "mirrors=['http://me:secret@host/x']", "a b"])
    found = provenance.run_of_this_job()
    assert found["command"] == """snakemake --config 'mirrors=['"'"'http://host/x'"'"']' 'a b'"""
    assert datetime.fromisoformat(str(found["started"])).tzinfo
    bucket = ["--storage-s3-secret-key", "a b'c", "--storage-s3-access-key=name", "--storage-s3-endpoint-url", "x"]
    said = "snakemake --storage-s3-secret-key ... --storage-s3-access-key=... --storage-s3-endpoint-url x"
    assert provenance.command_of(["snakemake", *bucket]) == said


def test_a_user_without_a_name_is_called_by_the_number_and_a_name_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # KeyError, as of a number without a name
    with pytest.raises((KeyError, OSError)):
        getpass.getuser()
    provenance.name_the_user()
    assert getpass.getuser() == f"uid-{os.getuid()}"
    monkeypatch.setenv("USER", "")
    monkeypatch.setattr(pwd, "getpwuid", {os.getuid(): ["ada"]}.__getitem__)
    provenance.name_the_user()
    assert (getpass.getuser(), os.environ["USER"]) == ("ada", "")
