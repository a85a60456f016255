"""The line of the verdict has every step that failed."""

import pytest

from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.replay import NAME, SOURCES
from beirflow.audit.verdict import grades, level, verdict_line


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


def test_the_words_on_results_are_their_steps() -> None:
    assert level(grades(sections())) == "replayed, traced to sources, sampled"
    partly = [Check(NAME, PASSED, ""), Check(SOURCES, PASSED, ""), Check(SOURCES, NOT_CHECKED, "")]
    assert level(grades(sections(replay=partly, sample=[]))) == "replayed, partly traced to sources, not sampled"
