"""Results that nobody forged pass, with every step of the verdict, here and elsewhere."""

from forger import Forger


def test_nothing_is_noticed_in_results_that_nobody_touched(reported: Forger) -> None:
    assert reported.noticed(sample=5) == []


def test_digests_that_are_made_again_without_a_change_change_nothing(forger: Forger) -> None:
    forger.evaluate_again("tiny", "small", "stack-tex")
    assert [check for check in forger.failed() if not check.name.startswith("files for reading")] == []


def test_nothing_is_noticed_elsewhere(elsewhere: Forger) -> None:
    assert elsewhere.noticed() == []
