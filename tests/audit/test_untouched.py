"""Results that nobody forged pass, here and elsewhere, and are left as they are."""

import shutil
from pathlib import Path

import pytest

from beirflow.audit.audit import audit
from beirflow.config.load import load_experiment
from beirflow.core.records import read_json
from forger import FAILED, NOT_CHECKED, PASSED, WARNING, Forger, put

MADE = ["reported", "families"]


@pytest.mark.parametrize("name", MADE)
def test_nothing_is_noticed_in_results_that_nobody_touched(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Where sources and models are; and in another folder of a stranger, to whom what is not checked is named."""
    forger: Forger = request.getfixturevalue(name)
    assert forger.noticed() == []
    moved = tmp_path / "another machine" / "of a stranger"
    shutil.copytree(forger.results, moved)
    stranger = Forger(moved)
    assert stranger.noticed() == []
    unchecked = {path for check in stranger.checks() if check.status == NOT_CHECKED for path in check.files}
    assert unchecked >= {path for path in forger.followed().claims if path.startswith("models/") and path.count("/") == 1}


def test_an_audit_writes_its_page_and_nothing_else(forger: Forger) -> None:
    before = {path: path.read_bytes() for path in forger.results.rglob("*") if path.is_file()}
    assert "passed" in audit(folder=str(forger.results), experiment=forger.experiment)
    after = {path: path.read_bytes() for path in forger.results.rglob("*") if path.is_file()}
    assert {path.name for path in after.keys() - before.keys()} == {"audit.json", "audit.html"}
    assert {path: after[path] for path in before} == before
    report = read_json(forger.path("audit.json"))
    assert (report["verdict"], report["counts"][FAILED], report["affected"]) == (PASSED, 0, [])


def test_digests_that_are_made_again_without_a_change_change_nothing(forger: Forger) -> None:
    forger.evaluate_again("tiny", "small", "stack-tex")
    assert forger.failed() == []


def test_another_precision_than_the_one_that_the_auditor_configured_is_named(forger: Forger) -> None:
    for asked, named in (("bfloat16", True), ("auto", False)):
        forger.experiment = load_experiment({**forger.experiment.config, "precision": asked})
        found = [check.status for check in forger.checks() if check.found.startswith("precision: these results have float32")]
        assert found == [NOT_CHECKED] * named


def test_other_code_in_all_records_is_one_warning_that_names_both(forger: Forger) -> None:
    for path in [path for path in forger.followed().records if path != "manifest.json"]:
        forger.edit(path, put("code", value="0" * 16))
    forger.edit("manifest.json", repository__commit="deadbeef" * 5)
    forger.digest_summary_again()
    assert forger.failed() == []
    (found,) = [check for check in forger.checks() if check.status == WARNING]
    assert f"code {'0' * 16}, here " in found.found
    assert "check out deadbeef" in found.repair


def test_a_system_of_an_extension_that_is_not_here_is_not_checked(forger: Forger) -> None:
    for keys in (("systems", "second"), ("configuration", "custom", "systems", "second")):
        forger.edit("manifest.json", put(*keys, "family", value="invented"))
    forger.experiment = load_experiment({})
    assert any("second needs an extension" in check.found for check in forger.checks() if check.status == NOT_CHECKED)
