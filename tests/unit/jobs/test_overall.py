"""Progress is said by work: what is left takes as long as what was like it took."""

from types import SimpleNamespace
from typing import Any

import pytest
from beirflow.jobs.overall import Expected, Overall, duration


def chunks() -> tuple[Any, Overall]:
    """A time that a test sets, as ``now``, and a small job and four large ones that take ten times as long as was thought."""
    large = {number: Expected("encode_chunk", 10.0, documents=1000) for number in (1, 2, 3, 4)}
    clock, last = SimpleNamespace(now=0.0), Expected("evaluate_run", 1.0, evaluates=True)
    return clock, Overall({0: Expected("prepare_corpus", 2.0), **large, 5: last}, lambda: clock.now)


def test_the_share_is_that_of_the_work_and_what_jobs_took_corrects_it() -> None:
    clock, overall = chunks()
    overall.begin(0, "prepare x")
    clock.now = 2.0
    overall.end(0)
    assert overall.line().startswith("5% of the work, 0 of 4,000 documents encoded or indexed, 0 of 1 evaluations")
    overall.begin(1, "encode chunk 0 of x with y")
    clock.now = 102.0
    overall.end(1)
    overall.begin(2, "encode chunk 1 of x with y")
    clock.now = 152.0
    # 2 + 100 + half of 100 of 403 seconds are done.
    expected = "38% of the work, 1,000 of 4,000 documents encoded or indexed (395/min), 0 of 1 evaluations, about 4 min left"
    assert overall.line() == f"{expected}; runs: encode chunk 1 of x with y"


def test_jobs_that_run_at_once_share_the_time_that_is_left_and_no_more_than_three_are_named() -> None:
    clock, overall = chunks()
    for number in (1, 2):
        overall.begin(number, f"encode chunk {number}")
    clock.now = 100.0
    for number in (1, 2):
        overall.end(number)
    assert "about 2 min left" in overall.line()  # 203 s of work
    for number in (1, 2, 3, 4):
        overall.begin(number, f"encode chunk {number}")
    assert overall.line().endswith("runs: encode chunk 1; encode chunk 2; encode chunk 3 and 1 more")
    assert Overall({}).line() == "100% of the work"


def test_a_job_that_takes_longer_than_thought_is_not_taken_for_done() -> None:
    clock, overall = chunks()
    overall.begin(1, "encode")
    clock.now = 10_000.0
    assert overall.line().startswith("95% of the work")
    overall.fail(1)
    assert overall.line().startswith("0% of the work")


def test_the_share_that_such_a_job_reports_decides_the_time_left() -> None:
    clock, overall = chunks()
    overall.begin(0, "prepare x")
    clock.now = 2.0
    overall.end(0)
    overall.begin(1, "encode", lambda: 0.25)
    clock.now = 7.0
    assert overall.seconds_left() == pytest.approx(36)  # half of the job, three more and the evaluation
    clock.now = 402.0
    assert overall.seconds_left() == pytest.approx(1200 + 31)


@pytest.mark.parametrize(("seconds", "words"), [(5.2, "5 s"), (120, "2 min"), (7200, "2.0 h"), (400_000, "4.6 days")])
def test_durations_are_said_in_the_unit_that_fits(seconds: float, words: str) -> None:
    assert duration(seconds) == words
