"""The benchmarks measure what they say: fresh processes, paired ratios, and a failure where outputs disagree."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from bench import child, command_line, report
from bench.machine import REPOSITORY, Settings, slug
from bench.runner import ChildFailedError, Measurement, Outcome, growths, make_row, measure, paired_ratios, run_stage
from bench.stage import TABLE, CannotRunError, Side, Stage, Target, read_stage, sizes_of

SETTINGS = Settings(quick=True, repeats=None, own_python=sys.executable, peer_python=sys.executable, nfcorpus=None, cores=1)
MACHINE: dict[str, Any] = {
    "device": "Some (R) CPU",
    "processor": "Some (R) CPU",
    "cores": 2,
    "load": 0.0,
    "instructions": [],
    "python": "3.11",
    "versions": {"beirflow": {"torch": "2"}, "peers": {"beir": "2"}},
    "commit": "0" * 40,
    "clean": False,
    "date": "2026-01-01",
}


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def stage(folder: Path, check: str = 'print(\'{"agree": "yes"}\')', **changes: Any) -> Stage:
    """Ours reports two seconds, the peer four; every run of ours leaves a file whose presence would fail the next one."""
    once = f"open('{folder}/ours/seen', 'x'); print('{{\"seconds\": 2}}')"
    sides = [
        Side("ours", python(once), folder / "ours"),
        Side("peer", python("print('{\"seconds\": 4}')"), folder / "peer"),
        Side("rare", python("print('{\"seconds\": 8}')"), folder / "rare", runs=1),
    ]
    return Stage(
        **{
            "name": "s",
            "input": "nothing",
            "clock": "call",
            "rounds": 2,
            "inputs": python("pass"),
            "sides": sides,
            "check": python(check),
            "targets": [Target("seconds", "ours", 0.5, over="peer"), Target("seconds", "rare", 3, over="ours", row="rare row")],
            **changes,
        }
    )


def test_ratios_are_those_of_one_round() -> None:
    assert paired_ratios([1, 9, 4], [2, 3, 4]) == [0.5, 3.0, 1.0]
    assert paired_ratios([8], [2, 1000]) == [4.0]


def test_memory_is_that_of_the_child_in_bytes(tmp_path: Path) -> None:
    """Measured by a process like that of the benchmarks, which must stay small to see children that are.

    How much Python and the allocator take differs between machines, by less than a tenth of what the large child holds.
    """
    code = """
import os, pathlib, sys, bench.command_line, bench.runner
for size in (300_000_000, 1):
    command = [sys.executable, "-c", f"x = b'x' * {size}"]
    print(bench.runner.measure(command, os.environ, pathlib.Path(sys.argv[1])).peak)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
    done = subprocess.run([*python(code), str(tmp_path / "log")], env=environment, capture_output=True, check=True)
    large, small = map(int, done.stdout.split())
    assert 1e6 < small < 150e6
    assert large - small == pytest.approx(300e6, rel=0.1)


def test_what_outlives_a_child_counts_as_the_process_that_forks_the_jobs_of_snakemake(tmp_path: Path) -> None:
    code = """
import os, pathlib, sys, bench.command_line, bench.runner
bench.runner.adopt_orphans()
job = "import time; time.sleep(0.3); x = b'x' * 300_000_000"
command = [sys.executable, "-c", f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {job!r}])"]
print(bench.runner.measure(command, os.environ, pathlib.Path(sys.argv[1])).peak)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
    done = subprocess.run([*python(code), str(tmp_path / "log")], env=environment, capture_output=True, check=True)
    assert int(done.stdout) > 300e6


def test_time_is_from_start_to_end_of_a_child_or_what_its_last_line_reports(tmp_path: Path) -> None:
    start = time.monotonic()
    code = "import time; time.sleep(0.3); print('progress'); print('{\"seconds\": 0.5}')"
    done = measure(python(code), os.environ, tmp_path / "log")
    assert 0.3 <= done.wall <= time.monotonic() - start
    assert done.cpu < done.wall
    assert done.report == {"seconds": 0.5}
    assert (done.value("seconds", "call"), done.value("seconds", "process")) == (0.5, done.wall)


def test_a_child_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(ChildFailedError, match=r"ended with 1:\n(.*\n)*two documents differ"):
        measure(python("import sys; sys.exit('two documents differ')"), os.environ, tmp_path / "log")


@pytest.mark.parametrize(
    ("target", "unit", "value", "met"),
    [
        (Target("seconds", "ours", 0.5, over="peer"), "×", 0.5, True),
        (Target("seconds", "ours", 0.49, over="peer"), "×", 0.5, False),
        (Target("growth", "ours", 1.3, over="peer"), "×", 4.0, False),
        (Target("memory", "ours", 1e9), "GB", 0.9, True),
        (Target("memory", "peer", 1e9), "GB", 1.1, False),
        (Target("seconds", "ours", 20), "s", 2.0, True),
    ],
)
def test_targets_are_judged_by_the_median(tmp_path: Path, target: Target, unit: str, value: float, met: bool) -> None:
    runs = {
        "ours": [Measurement(9, 9, 900_000_000, {"seconds": seconds, "growth": 400}) for seconds in (1, 2, 300)],
        "peer": [Measurement(9, 9, 1_100_000_000, {"seconds": 4, "growth": 100})] * 3,
    }
    row = make_row(stage(tmp_path), target, runs)
    assert (row.unit, row.median, row.met) == (unit, pytest.approx(value), met)


def test_a_process_clock_takes_the_whole_process_and_a_target_may_have_a_clock_of_its_own(tmp_path: Path) -> None:
    runs = {"ours": [Measurement(9, 9, 1, {"seconds": 2})], "peer": [Measurement(3, 3, 1, {"seconds": 1})]}
    assert make_row(stage(tmp_path, clock="process"), Target("seconds", "ours", 20), runs).median == 9
    row = make_row(stage(tmp_path, clock="call"), Target("seconds", "ours", 1, over="peer", clock="process"), runs)
    assert (row.compared, row.median, row.seconds) == ("time of the process: ours / peer", 3, [9, 3])


def test_without_a_jar_the_rows_of_lucene_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEIRFLOW_ANSERINI_JAR", str(tmp_path / "no.jar"))
    made = read_stage("bm25", SETTINGS, tmp_path)
    assert {side.name.partition(",")[0] for side in made.sides} == {"ours", "bm25s"}
    why = f"no Anserini: BEIRFLOW_ANSERINI_JAR names {tmp_path}/no.jar, which is no file"
    assert made.left_out == [("index", why), ("search-bm25", why)]


def test_a_stage_runs_its_sides_in_turn_in_empty_folders() -> None:
    outcome = run_stage("s", lambda _, folder: stage(folder), SETTINGS)
    assert outcome.failure == ""
    assert {name: len(runs) for name, runs in outcome.runs.items()} == {"ours": 2, "peer": 2, "rare": 1}
    assert [(row.stage, row.values, row.met) for row in outcome.rows] == [("s", [0.5, 0.5], True), ("rare row", [4.0], False)]
    text = report.as_markdown(MACHINE, "the quick form", [outcome])
    assert "| s | time of the call: ours / peer | **0.50 ×** | 0.50 × to 0.50 × (2) | 0.5 × | yes | 2.00 / 4.00 |" in text
    assert "| rare row | time of the call: rare / ours | **4.00 ×** | one run | 3 × | **no** | 8.00 / 2.00 |" in text
    assert "| s | nothing | yes |" in text


def test_outputs_that_disagree_fail_the_stage_and_the_command() -> None:
    outcome = run_stage("s", lambda _, folder: stage(folder, check="import sys; sys.exit('they differ')"), SETTINGS)
    assert outcome.failure.endswith("they differ")
    assert outcome.rows == ()
    assert "**FAILED**" in report.as_markdown(MACHINE, "the quick form", [outcome])
    assert command_line.exit_status([outcome]) == 1


def test_a_stage_without_its_data_says_so() -> None:
    def make(settings: Settings, folder: Path) -> Stage:
        raise CannotRunError("no archive")

    outcome = run_stage("s", make, SETTINGS)
    assert "| s | not run: no archive |" in report.as_markdown(MACHINE, "the quick form", [outcome])
    assert command_line.exit_status([outcome]) == 0


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", [name for stages in TABLE.values() for name in stages])
def test_every_target_names_sides_and_every_command_fits_its_function(
    name: str, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.stage.computes_in_bfloat16", lambda _: True)
    monkeypatch.setattr("anserini.missing", str)
    (tmp_path / "nfcorpus.zip").touch()
    settings = replace(SETTINGS, quick=quick, nfcorpus=tmp_path / "nfcorpus.zip")
    made = read_stage(name, settings, tmp_path, **sizes_of(name, settings)[0])
    names = [side.name for side in made.sides]
    assert {target.side for target in made.targets} | {target.over or names[0] for target in made.targets} <= set(names)
    assert len({side.output for side in made.sides}) == len(names)
    assert bool(made.left_out) == (quick and name in ("prepare", "search", "merge"))
    for command in (made.inputs, made.check, *(side.command for side in made.sides)):
        if "bench.child" in command:
            words = command[5:] if command[3] == child.IN_TURN else command[3:]
            module, _, function = words[0].partition(".")
            entrance = getattr(importlib.import_module(f"bench.stages.{module}"), function)
            bound = inspect.signature(entrance).bind(*words[1:])
            for parameter, value in bound.arguments.items():
                values = value if isinstance(value, tuple) else [value]
                list(map(bound.signature.parameters[parameter].annotation, values))


def test_growth_is_the_power_of_the_documents(tmp_path: Path) -> None:
    def outcome(documents: int, cpu: float, peak: int) -> Outcome:
        return Outcome(
            "s", replace(stage(tmp_path), documents=documents), {"ours, a": [Measurement(1, cpu, peak, {}, 2_000_000)]}
        )

    linear = [outcome(100_000, 1, 10**9), outcome(1_000_000, 10, 10**9)]
    (row,) = growths([*linear, Outcome("t", stage(tmp_path))])
    assert row.exponent == pytest.approx(1)
    shown = report.as_markdown(MACHINE, "the full form", linear)
    assert "| s, a | 0.1 / 1 | 1.00 / 10.0 | 1.00 / 1.00 | 2 / 2 | 1.00 | yes |" in shown
    worse = [outcome(9_000_000, 200, 10**9)], [outcome(9_000_000, 90, 4 * 10**9)]
    assert [growths([*linear, *more])[0].met for more in worse] == [False, False]


def test_jobs_in_turn_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(child.subprocess, "run", lambda command, check: commands.append(command[3:]))
    child.main(child.IN_TURN, "2", "search.ours", str(tmp_path), "in")
    assert commands == [["search.ours", str(tmp_path / name), "in"] for name in ("0", "1")]
    assert [path.is_dir() for path in tmp_path.iterdir()] == [True, True]


def test_a_stage_without_its_archive_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match=r"no nfcorpus\.zip"):
        read_stage("weigh", SETTINGS, tmp_path)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("prepare-msmarco", {"documents": 3000, "chunk_documents": 700}),
        ("merge", {"queries": 6, "documents": 400, "chunk_documents": 200, "k": 15}),
        pytest.param(
            "bm25-msmarco", {"documents": 3001, "chunk_documents": 800, "queries": 30, "words": 2000}, marks=pytest.mark.long
        ),
    ],
    ids=["prepare-msmarco", "merge", "bm25-msmarco"],
)
def test_simulated_data_go_through_ours_and_agree(name: str, sizes: dict[str, int]) -> None:
    outcome = run_stage(name, partial(read_stage, name, **sizes), replace(SETTINGS, repeats=1))
    assert outcome.failure == ""
    assert re.search(r"^[\d,]+ (documents|rows), ", outcome.agreement)


def test_a_stage_of_the_wrong_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["--only", "merge"])
    assert "no stage merge without --scale" in capsys.readouterr().err


def test_the_name_of_a_device_becomes_that_of_a_file() -> None:
    assert slug("Intel(R) Xeon(R) Processor @ 2.00GHz") == "intel-xeon-processor-2-00ghz"


def table_of(text: str) -> list[str]:
    """Rows of the first table of a text."""
    lines = iter(text.splitlines())
    return [next(line for line in lines if line.startswith("|")), *takewhile(lambda line: line.startswith("|"), lines)]


@pytest.mark.parametrize("page", ["speed.md", "gpus.md"])
def test_pages_on_speed_have_the_stored_results_whole_with_missed_targets(page: str) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    sections = re.findall(r"^### \[.*?\]\(\.\./(tests/bench/results/\S+\.md)\)$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    for path, section in sections:
        assert table_of(section) == table_of((REPOSITORY / path).read_text()), path
    stored = (REPOSITORY / "tests/bench/results").glob("*.md")
    on_page = {str(path.relative_to(REPOSITORY)) for path in stored if path.name.startswith("nvidia") == (page == "gpus.md")}
    assert {path for path, _ in sections} == on_page
