"""A job: what reaches the file of its log, what reaches the terminal, and what its records say of it."""

import errno
import logging
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import psutil
import pytest
from snakemake.benchmark import BenchmarkRecord

from beirflow.core.addresses import keep_secret
from beirflow.core.errors import DataError, VerdictError
from beirflow.core.extensions import Extension, Observer
from beirflow.core.records import Job, read_json
from beirflow.run import job as module
from beirflow.run.job import job, logged_error, measured, surroundings
from forks import run_in_fork

PACKAGE_PATH = str(Path(module.__file__).parents[2])
logger = logging.getLogger("beirflow.some_module")


@pytest.fixture(autouse=True)
def _undo_capture_of_warnings() -> Iterator[None]:
    yield
    logging.captureWarnings(False)


def run(code: str, log: Path) -> subprocess.CompletedProcess[str]:
    program = (
        f"import logging, warnings\nfrom beirflow.run.job import surroundings\nwith surroundings({str(log)!r}):\n    {code}\n"
    )
    environment = os.environ | {"PYTHONPATH": PACKAGE_PATH}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


def test_news_go_to_the_file_and_what_matters_to_the_terminal_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "logs" / "rule" / "job.log"
    path.parent.mkdir(parents=True)
    for earlier in (path, path.with_suffix(".error.json")):
        earlier.write_text("of an earlier attempt")
    with surroundings(str(path)):
        logger.debug("a detail")
        logger.info("as usual: café")
        logger.warning("look here")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["INFO as usual: café", "WARNING look here"]
    assert capsys.readouterr().err == "WARNING: look here\n"
    assert [each.name for each in path.parent.iterdir()] == ["job.log"]


def test_an_unexpected_error_has_its_traceback_without_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    keep_secret("s3cr et")
    with pytest.raises(SystemExit) as exit_, surroundings(str(path)):
        {}["s3cr et of http://bob:pa55@host/, s3cr%20et"]
    assert exit_.value.code == 1
    for text in (path.read_text(), capsys.readouterr().err):
        assert f"please report it with this log, {path}" in text
        assert "Traceback" in text
        assert text.endswith("KeyError: '… of http://host/, …'\n")
        assert not {"s3cr", "pa55"} & set(re.findall(r"\w+", text))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_block(tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process that nohup started ignores it
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as exit_, surroundings(str(tmp_path / "job.log")):
        signal.raise_signal(number)
    assert exit_.value.code == 130
    assert capsys.readouterr().err == ""
    assert (tmp_path / "job.log").read_text().endswith(" INFO stopped by a signal before it was done\n")
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("error", [None, DataError, ValueError, KeyboardInterrupt])
def test_nothing_is_logged_to_the_file_after_the_block(tmp_path: Path, error: type[BaseException] | None) -> None:
    path = tmp_path / "job.log"
    before, shows = list(logging.getLogger("beirflow").handlers), warnings.showwarning
    try:
        with surroundings(str(path)):
            assert warnings.showwarning is not shows
            if error:
                raise error("stop")
    except (SystemExit, KeyboardInterrupt):
        pass
    written = path.read_text()
    logger.warning("too late")
    logging.getLogger("py.warnings").warning("too late")
    assert path.read_text() == written
    assert logging.getLogger("beirflow").handlers == before
    assert warnings.showwarning is shows


@pytest.mark.parametrize(
    ("code", "status", "says", "logged"),
    [
        ("exit(3)", 3, "", ""),
        ("warnings.warn('soon gone', FutureWarning)", 0, "", "FutureWarning: soon gone"),
    ],
)
def test_a_script_prints_no_traceback_for_a_known_reason_and_logs_warnings_of_libraries(
    tmp_path: Path, code: str, status: int, says: str, logged: str
) -> None:
    done = run(code, tmp_path / "job.log")
    assert (done.returncode, done.stderr) == (status, says)
    assert logged in (tmp_path / "job.log").read_text()


def snakemake(log: str | Path, *wildcards: str, **params: Any) -> Any:
    return SimpleNamespace(log=[str(log)], wildcards=list(wildcards), params=params, output=[])


@pytest.mark.parametrize(
    ("error", "streams", "more"),
    [
        (DataError, ("", "ERROR: corpus.jsonl:3: 100 % wrong\n"), {}),
        (VerdictError, ("corpus.jsonl:3: 100 % wrong\n", ""), {"verdict": True}),
    ],
)
def test_an_error_for_people_is_its_message_alone_and_a_verdict_the_text_of_a_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: type[Exception], streams: tuple[str, str], more: dict[str, bool]
) -> None:
    log, said = tmp_path / "logs/audit.log", "corpus.jsonl:3: 100 % wrong"
    with pytest.raises(SystemExit) as exit_, job(snakemake(log)):
        raise error(said)
    assert exit_.value.code == 1
    assert capsys.readouterr() == streams
    assert log.read_text().endswith(f" {said}\n")
    assert read_json(tmp_path / "logs/audit.error.json") == {"error": said, **more}


def test_an_error_that_the_disk_refused_is_explained_by_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "job.log"
    assert logged_error(str(log)) == ("", False)
    assert not [*tmp_path.iterdir()]

    def refuse(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    error, verdict = logged_error(str(log))
    assert "the disk is full" in error
    assert not verdict


def test_extensions_observe_a_job_that_makes_something_until_it_ends_and_none_that_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    @contextmanager
    def around(results: Path, name: str) -> Iterator[None]:
        seen.append((results, name))
        try:
            yield
        finally:
            seen.append("ended")

    observed = Extension(tmp_path, observer=Observer(around, lambda gpu, jobs: None))
    monkeypatch.setattr(module, "extensions", lambda: (Extension(tmp_path), observed))
    for name, output in (("evaluate_run", ["x"]), ("audit", [])):
        of_rule = snakemake(tmp_path / f"results/logs/{name}.log")
        of_rule.output = output
        with job(of_rule):
            seen.append("runs")
    assert seen == [(tmp_path / "results", "evaluate_run"), "runs", "ended", "runs"]
    with pytest.raises(SystemExit), job(SimpleNamespace(**vars(of_rule) | {"output": ["x"]})):
        raise DataError("stop")
    assert seen[-2:] == [(tmp_path / "results", "audit"), "ended"]


@pytest.mark.parametrize(
    ("name", "wildcards", "results"),
    [
        ("summarize", (), "."),
        ("search_chunk/bm25/scifact/chunk-0", ("bm25", "scifact", "0"), "results"),
    ],
)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_job_knows_its_results_its_name_and_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, wildcards: tuple[str, ...], results: str, absolute: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / results if absolute else Path(results)
    log = folder / f"logs/{name}.log"
    for code in ({"code": "c0de"}, {}):
        with job(snakemake(log, *wildcards, **code)) as this:
            logger.info("begun")
            assert this == Job(folder, name, code.get("code", ""))
            assert this.below(folder / "runs/bm25/scifact.json") == "runs/bm25/scifact.json"
        assert log.read_text().endswith(" INFO begun\n")


MEBIBYTES = 300


def test_time_and_peak_memory_are_those_of_the_job(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks/rule/a.tsv"

    def work() -> None:
        sys.stdout.write(f"{psutil.Process().memory_info().rss / 2**20}")  # what a fork shares with this process counts too
        with measured(path):
            taken = bytearray(os.urandom(1 << 20) * MEBIBYTES)
            del taken
            began = time.process_time()
            while time.process_time() < began + 0.3:
                pass
            time.sleep(0.3)

    done = run_in_fork(work)
    assert (done.returncode, done.stderr) == (0, "")
    before = float(done.stdout)
    (row,) = pd.read_csv(path, sep="\t").to_dict("records")
    assert list(row) == [*BenchmarkRecord.get_header(extended_fmt=False), "load_per_core"]
    assert 0.3 <= row["cpu_time"] <= row["s"] - 0.3
    assert row["mean_load"] == pytest.approx(100 * row["cpu_time"] / row["s"], rel=0.05)
    assert before + MEBIBYTES <= row["max_rss"] < before + 3 * MEBIBYTES  # twice: the random bytes, and their copy


def test_a_job_that_fails_has_no_benchmark_not_even_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks/a.tsv"
    with measured(path):
        pass
    assert path.exists()
    with pytest.raises(ZeroDivisionError), measured(path):
        1 / 0  # noqa: B018
    assert not path.exists()
