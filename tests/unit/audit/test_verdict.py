"""The line of the verdict has every step that failed."""

import pytest
from beirflow.audit.facts.outside import CARDS, MODELS, SOURCES

from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.verdict import grades, level, verdict_line

SECTIONS = ("integrity", "facts", "sources", "provenance", "recomputation", "files for reading", "sample", "published scores")


@pytest.mark.parametrize(
    ("section", "name", "step"),
    [
        ("integrity", "", "intact"),
        ("facts", "", "consistent"),
        ("recomputation", "", "recomputed"),
        ("sources", SOURCES, "traced to sources"),
        ("sources", MODELS, "traced to models"),
        ("sources", CARDS, CARDS),
        ("provenance", "", "provenance"),
        ("files for reading", "", "files for reading"),
        ("sample", "", "sampled"),
        ("published scores", "", "published scores"),
    ],
)
def test_every_step_that_failed_is_in_the_line(section: str, name: str, step: str) -> None:
    sections = {each: [Check("any", PASSED, "")] for each in SECTIONS}
    assert "failed" not in verdict_line(grades(sections))
    sections[section] = [Check(name, FAILED, "")]
    assert [what for what, how in grades(sections) if how == "failed"] == [step]
    assert f"{step}: failed" in verdict_line(grades(sections))


def test_the_words_on_results_are_their_steps() -> None:
    sections = {each: [Check("any", PASSED, "")] for each in SECTIONS}
    sections["sources"] = [Check(SOURCES, PASSED, ""), Check(SOURCES, NOT_CHECKED, ""), Check(MODELS, NOT_CHECKED, "")]
    assert level(grades(sections)) == "consistent, partly traced to sources, not traced to models, sampled"
    sections["sample"] = [Check("any", PASSED, ""), Check("any", NOT_CHECKED, "")]
    sections["recomputation"] = []
    assert level(grades(sections)).startswith("not recomputed, ")
    assert level(grades(sections)).endswith(", partly sampled")
