"""Progress is said by work: what is left takes as long as what was like it took."""

from types import SimpleNamespace
from typing import Any

import pytest

from beirflow.run.overall import Expected, Overall, duration


def chunks() -> tuple[Any, Overall]:
    """A time that a test sets, as ``now``, and a small job and four large ones that take ten times as long as was thought."""
    large = {number: Expected("encode_chunk", 10.0, documents=1000) for number in (1, 2, 3, 4)}
    clock, last = SimpleNamespace(now=0.0), Expected("evaluate_run", 1.0, evaluates=True)
    return clock, Overall({0: Expected("prepare_corpus", 2.0), **large, 5: last}, lambda: clock.now)


def run(clock: Any, overall: Overall, number: int, until: float) -> None:
    """A job that runs until then."""
    overall.begin(number, f"job {number}")
    clock.now = until
    overall.end(number)


def test_the_share_is_that_of_the_work_and_what_jobs_took_corrects_the_time_left() -> None:
    clock, overall = chunks()
    run(clock, overall, 0, 2.0)
    assert overall.line().startswith("5% of the work, 0 of 4,000 documents encoded or indexed, 0 of 1 evaluations")
    run(clock, overall, 1, 102.0)
    overall.begin(2, "encode chunk 1 of x with y")
    clock.now = 152.0
    # 2 + 10 + half of 10 of the 43 seconds that were expected are done; 250 of those that it takes are left, and the evaluation.
    expected = "40% of the work, 1,000 of 4,000 documents encoded or indexed (395/min), 0 of 1 evaluations, about 4 min left"
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
    assert overall.line().startswith("22% of the work")  # 95% of 10 of 43 seconds
    overall.fail(1)
    assert overall.line().startswith("0% of the work")


def test_what_has_not_run_yet_takes_as_much_longer_as_what_has() -> None:
    clock, overall = chunks()
    run(clock, overall, 0, 10.0)
    assert overall.seconds_left() == pytest.approx((10 + 0.43) / (2 + 0.43) * 41)


def test_a_start_that_took_ten_seconds_does_not_make_days_of_an_hour() -> None:
    clock = SimpleNamespace(now=0.0)
    overall = Overall({0: Expected("prepare_corpus", 0.8), 1: Expected("encode_chunk", 3600.0)}, lambda: clock.now)
    run(clock, overall, 0, 12.0)
    assert 3600 < overall.seconds_left() < 5400


def test_the_share_that_such_a_job_reports_decides_the_time_left() -> None:
    clock, overall = chunks()
    run(clock, overall, 0, 2.0)
    overall.begin(1, "encode", lambda: 0.25)
    clock.now = 7.0
    assert overall.seconds_left() == pytest.approx(36)  # half of the job, three more and the evaluation
    clock.now = 402.0
    assert overall.seconds_left() == pytest.approx(1200 + 31)


def test_the_share_never_goes_back_though_one_kind_of_job_takes_five_times_as_long_as_expected() -> None:
    clock, jobs = SimpleNamespace(now=0.0), {number: Expected("short" if number < 5 else "long", 20.0) for number in range(10)}
    overall, said, left = Overall(jobs, lambda: clock.now), list[float](), list[float]()
    for job, each in jobs.items():
        takes, since = (100 if each.rule == "long" else 20), clock.now
        # Each job counts twice, from 0 to 1.
        overall.begin(job, each.rule, lambda since=since, takes=takes: (clock.now - since) / takes * 2 % 1)  # type: ignore[misc]
        for _ in range(takes):
            clock.now += 1
            said.append(float(overall.line().partition("%")[0]))
            left.append(overall.seconds_left())
        overall.end(job)
    assert said == sorted(said)
    assert overall.line() == "100% of the work"
    assert said[99] == pytest.approx(50, abs=1)  # of the work that was expected
    assert left[200] == pytest.approx(400, abs=5)  # a long job has ended


@pytest.mark.parametrize(("seconds", "words"), [(5.2, "5 s"), (120, "2 min"), (7200, "2.0 h"), (400_000, "4.6 days")])
def test_durations_are_said_in_the_unit_that_fits(seconds: float, words: str) -> None:
    assert duration(seconds) == words
