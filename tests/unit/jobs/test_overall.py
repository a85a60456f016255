"""Progress is said by work: what is left takes as long as what was like it took."""

import pytest
from beirflow.jobs.overall import Expected, Overall, duration


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def chunks(clock: Clock) -> Overall:
    """A small job, and four large ones that take ten times as long as was thought."""
    large = {number: Expected("encode_chunk", 10.0, documents=1000) for number in (1, 2, 3, 4)}
    return Overall({0: Expected("prepare_corpus", 2.0), **large, 5: Expected("evaluate_run", 1.0, evaluates=True)}, clock)


def test_the_share_is_that_of_the_work_and_what_jobs_took_corrects_it(clock: Clock) -> None:
    overall = chunks(clock)
    overall.begin(0, "prepare x")
    clock.now = 2.0
    overall.end(0)
    assert overall.line().startswith("5% of the work, 0 of 4,000 documents encoded or indexed (0/s), 0 of 1 evaluations")
    overall.begin(1, "encode chunk 0 of x with y")
    clock.now = 102.0
    overall.end(1)
    overall.begin(2, "encode chunk 1 of x with y")
    clock.now = 152.0
    # 2 + 100 + half of 100 of 403 seconds are done.
    expected = "38% of the work, 1,000 of 4,000 documents encoded or indexed (7/s), 0 of 1 evaluations, about 4 min left"
    assert overall.line() == f"{expected}; runs: encode chunk 1 of x with y"


def test_jobs_that_run_at_once_share_the_time_that_is_left(clock: Clock) -> None:
    overall = chunks(clock)
    for number in (1, 2):
        overall.begin(number, f"encode chunk {number}")
    clock.now = 100.0
    for number in (1, 2):
        overall.end(number)
    assert "about 102 s left".replace("102 s", "2 min") in overall.line()


def test_a_job_that_takes_longer_than_thought_is_not_taken_for_done(clock: Clock) -> None:
    overall = chunks(clock)
    overall.begin(1, "encode")
    clock.now = 10_000.0
    assert overall.line().startswith("22% of the work")
    overall.fail(1)
    assert overall.line().startswith("0% of the work")


def test_no_more_than_three_jobs_are_named(clock: Clock) -> None:
    overall = chunks(clock)
    for number in (1, 2, 3, 4):
        overall.begin(number, f"encode chunk {number}")
    assert overall.line().endswith("runs: encode chunk 1; encode chunk 2; encode chunk 3 and 1 more")


def test_a_run_without_jobs_is_done() -> None:
    assert Overall({}).line() == "100% of the work"


@pytest.mark.parametrize(("seconds", "words"), [(5.2, "5 s"), (120, "2 min"), (7200, "2.0 h"), (400_000, "4.6 days")])
def test_durations_are_said_in_the_unit_that_fits(seconds: float, words: str) -> None:
    assert duration(seconds) == words
