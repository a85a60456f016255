"""Progress in words, in the log, and on a terminal."""

import io
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from beirflow.core import progress as module
from beirflow.core.progress import Progress, logged_share, silence


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still until it is set."""
    clock = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.seconds))
    return clock


@pytest.mark.parametrize(
    ("total", "done", "line"),
    [
        (1000, 250, "encode: 250 of 1,000 documents, 25/s, 00:30 left"),
        (20_000, 20_000, "encode: 20,000 of 20,000 documents, 2,000/s, 10.0 s"),
        (None, 250, "encode: 250 documents, 25/s, 10.0 s"),
        (1000, 0, "encode: 0 of 1,000 documents, 0/s, 10.0 s"),
    ],
)
def test_the_line_says_done_of_total_rate_and_time_left(clock: SimpleNamespace, total: int | None, done: int, line: str) -> None:
    progress = Progress("encode", total, "documents")
    clock.seconds += 10
    progress.advance(done)
    assert progress.line() == line


def test_there_is_progress_without_a_standard_error(clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with Progress("encode", 1, "documents") as progress:
        progress.advance(1)
    assert progress.done == 1


def test_the_line_has_the_rate_of_the_second_unit_and_work_may_take_no_time(clock: SimpleNamespace) -> None:
    progress = Progress("encode", 1000, "documents", "tokens")
    progress.advance(100, 4_000)
    assert progress.line().startswith("encode: 100 of 1,000 documents, ")
    clock.seconds += 10
    progress.advance(150, 8_340)
    assert progress.line() == "encode: 250 of 1,000 documents, 25/s, 1,234 tokens/s, 00:30 left"


def test_the_log_gets_a_line_now_and_then_and_one_at_the_end(clock: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "beirflow")
    with Progress("copy", 10, "files") as progress:
        for _ in range(10):
            clock.seconds += module.LOG_EVERY_SECONDS / 4
            progress.advance(1)
    assert [message.split(",")[0] for message in caplog.messages] == [f"copy: {done} of 10 files" for done in (4, 8, 10)]


def test_a_terminal_shows_a_bar_unless_silenced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "beirflow")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    with silence(), Progress("search", 4, "documents") as progress:
        progress.advance(4)
    assert (terminal.getvalue(), caplog.messages) == ("", [])
    with Progress("encode", 4, "documents", "tokens") as progress:
        progress.advance(3, 5)
    assert "encode:  75%" in terminal.getvalue()
    assert "tokens/s" in terminal.getvalue()
    assert len(caplog.messages) == 1


def test_the_last_line_of_a_log_gives_the_share(tmp_path: Path, clock: SimpleNamespace) -> None:
    log = tmp_path / "job.log"
    assert logged_share(str(log)) is None
    log.write_text("read 3 of the files\n")
    assert logged_share(str(log)) is None
    with Progress("encode: x", 4000, "documents") as progress:
        for count in (1000, 2000):
            progress.advance(count)
            log.write_text(f"{log.read_text()}INFO {progress.line()}\n{'other words ' * 50}\n")
    assert logged_share(str(log)) == 0.75
