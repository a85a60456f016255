"""Tests in several processes, ``pytest --processes 3``, that are forked when all tests are collected.

To import what tests need, to rewrite their assertions and to collect them takes 20 s of a core, which each process of
pytest-xdist takes for itself. A process has the tests of one file at a time, and asks for the next file before the last of them,
so that what a session shares ends with its last test.
"""

import os
import sys
import traceback
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import NoReturn

import pytest
from warm_jobs import PROCESS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, help="processes that run tests; on Linux alone")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    config = session.config
    if config.option.processes < 2 or config.option.collectonly or session.testsfailed:
        return None
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # before there are several who would make it
    config.pluginmanager.getplugin("terminalreporter").showfspath = False
    places = range(len(session.items))
    files = deque(list(of_one) for _, of_one in groupby(places, key=lambda place: session.items[place].path))
    processes: dict[Connection, _Process] = {}
    for number in range(config.option.processes):
        ours, theirs = Pipe()
        if (process := os.fork()) == 0:
            for connection in (ours, *processes):
                connection.close()
            _work(session, theirs, number)
        theirs.close()
        processes[ours] = _Process(session, process)
    while processes:
        for connection in wait(list(processes)):
            try:
                message = connection.recv()  # type: ignore[union-attr]
            except EOFError:
                processes.pop(connection).ended()  # type: ignore[arg-type]
                continue
            if message is None:
                goes_on = files and not session.shouldfail and not session.shouldstop
                connection.send(files.popleft() if goes_on else [])  # type: ignore[union-attr]
            else:
                processes[connection].told(message)  # type: ignore[index]
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    return True


class _Process:
    """A process that runs tests, as pytest's own process sees it."""

    def __init__(self, session: pytest.Session, number: int) -> None:
        self.session, self.number, self.test = session, number, 0

    def told(self, message: "int | dict[str, object]") -> None:
        """Note which test begins, or what was found of one."""
        if isinstance(message, int):
            self.test = message
            return
        hook = self.session.config.hook
        report = hook.pytest_report_from_serializable(config=self.session.config, data=message)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def ended(self) -> None:
        """A process that does not end well fails the test that it ran, and no other process runs the rest of its file."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        if status:
            item = self.session.items[self.test]
            said = f"the process of this test ended with {status}; the tests after it in its file did not run"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
            self.session.config.hook.pytest_runtest_logreport(report=report)


def _work(session: pytest.Session, connection: Connection, number: int) -> NoReturn:
    """Run files of tests until there are no more, in a process that was forked for it."""
    status = 1
    try:
        os.environ[PROCESS] = str(number)
        manager = session.config.pluginmanager
        capture = manager.getplugin("capturemanager")
        capture.stop_global_capturing()  # into files that all processes would write to
        capture.start_global_capturing()
        manager.unregister(name="terminalreporter")
        manager.register(_Reporter(session.config, connection))
        factory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / f"process-{number}"
        factory._basetemp.mkdir()
        _run_files(session, connection)
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def _run_files(session: pytest.Session, connection: Connection) -> None:
    def more() -> Sequence[int]:
        connection.send(None)
        return connection.recv()  # type: ignore[no-any-return]

    file = more()
    while file:
        following: Sequence[int] = ()
        for place, after in zip(file, [*file[1:], None], strict=True):
            if after is None:
                following = more()
                after = following[0] if following else None
            connection.send(place)
            next_item = None if after is None else session.items[after]
            session.config.hook.pytest_runtest_protocol(item=session.items[place], nextitem=next_item)
        file = following


class _Reporter:
    """Tells pytest's own process what was found of a test."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self.config, self.connection = config, connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.connection.send(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))
