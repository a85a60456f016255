"""The line of the verdict has every step that failed, and failures of one cause are one finding."""

import pytest

from beirflow.audit.checks import FAILED, PASSED, WARNING, Check
from beirflow.audit.replay.replay import NAME, SOURCES
from beirflow.audit.verdict import findings, grades, verdict_line


def sections(**changes: list[Check]) -> dict[str, list[Check]]:
    """Checks that all passed, but for some sections."""
    passed = {key: [Check("any", PASSED, "")] for key in ("chain", "configuration", "sample", "published scores")}
    return {**passed, "replay": [Check(NAME, PASSED, ""), Check(SOURCES, PASSED, "")], **changes}


@pytest.mark.parametrize(
    ("section", "name", "step"),
    [
        ("chain", "", "intact"),
        ("configuration", "", "as configured"),
        ("replay", NAME, "replayed"),
        ("replay", SOURCES, "traced to sources"),
        ("sample", "", "sampled"),
        ("published scores", "", "published scores"),
    ],
)
def test_every_step_that_failed_is_in_the_line(section: str, name: str, step: str) -> None:
    assert "failed" not in verdict_line(grades(sections()))
    found = grades(sections(**{section: [Check(name, FAILED, "")]}))
    assert [what for what, how in found if how == "failed"] == [step]
    assert f"{step}: failed" in verdict_line(found)


def test_what_follows_from_a_file_is_one_finding_with_it_and_files_that_one_command_repairs_are_another() -> None:
    def rebuild(*paths: str) -> str:
        return " ".join(("rebuild", *paths))

    def failed(path: str, cause: str = "", found: str = "") -> Check:
        return Check("as recorded", FAILED, found or f"{path} differs", "", (path,), ((path, "x"),), rebuild(path), cause)

    chain = [failed("a"), failed("b"), Check("left over", WARNING, "c", "", ("c",), (), "mv c"), Check("left over", WARNING, "d")]
    replay = [failed("a", "a", "a: line 2"), failed("page", "a"), Check("as recorded", FAILED, "e", "", ("e",), (), "mv e")]
    files, other, *warnings = findings(sections(chain=chain, replay=replay), rebuild)
    assert files["details"] == ["a: line 2", "a differs", "b differs"]
    assert (files["follows"], files["repair"]) == (["page"], "rebuild a b")
    assert files["results"] == (("a", "x"), ("b", "x"), ("page", "x"))
    assert (other["details"], other["repair"]) == (["e"], "mv e")
    assert [(each["status"], each["details"], each["repair"]) for each in warnings] == [
        (WARNING, ["c"], "mv c"),
        (WARNING, ["d"], ""),
    ]
