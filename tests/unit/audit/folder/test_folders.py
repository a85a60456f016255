"""Where audits write: never within results of others."""

import os
from pathlib import Path

import pytest

from beirflow.audit.folder.folders import audit_folders, check_audit_folders
from beirflow.core.errors import ConfigError


def test_own_results_have_their_audit_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = str(tmp_path)
    assert audit_folders(results, None) == (results, results, None)
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (results, os.W_OK))
    assert audit_folders(results, None) == (results, results, ".snakemake/beirflow/logs/audit.log")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/copy/results", "copy-results"),
        ("/copy of it/{dataset}/é<results>", "copy-of-it-dataset-results"),
        ("/", "root"),
        ("/...", "root"),
        (f"/copy/{'x' * 150}/{'y' * 60}", f"{'x' * 39}-{'y' * 60}"),
    ],
)
def test_an_audit_of_others_results_has_a_folder_of_its_own_whose_name_is_safe(path: str, name: str) -> None:
    place = audit_folders("results", path)
    assert place == (path, f"audits/{name}", f"audits/{name}/logs/audit.log")


def test_a_relative_path_is_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert audit_folders("results", "theirs").audited == str(tmp_path / "theirs")


def test_an_audited_folder_around_the_working_folder_is_refused_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs/runs").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    for folder in ("theirs", "theirs/runs"):
        monkeypatch.chdir(tmp_path / folder)
        with pytest.raises(ConfigError, match=r"is in the audited folder, .*; audit from a folder of your own: beirflow audit "):
            check_audit_folders("results", str(tmp_path / "link"), moved=False)
    monkeypatch.chdir(tmp_path)
    check_audit_folders("results", "link", moved=True)


def test_links_of_ones_own_working_folder_are_nobodys_business(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``--directory``, as with notes of Snakemake on a faster disk."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").symlink_to(tmp_path)
    check_audit_folders("results", None, moved=False)
    with pytest.raises(ConfigError, match=r"\.snakemake is a link to /"):
        check_audit_folders("results", None, moved=True)


def test_an_audit_writes_where_it_is_told_but_not_within_what_it_only_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert audit_folders("results", "/theirs", "page") == ("/theirs", "page", "page/logs/audit.log")
    assert audit_folders("results", None, "page") == (str(tmp_path / "results"), "page", "page/logs/audit.log")
    check_audit_folders("results", "/theirs", "page", moved=False)
    for inside in ("results/page", "results"):
        with pytest.raises(ConfigError, match=f"^{inside} is in the audited folder, {tmp_path}/results, which is only read"):
            check_audit_folders("results", None, inside, moved=False)
