"""The benchmarks measure what they say: fresh processes, paired ratios, and a failure where outputs disagree."""

import importlib
import inspect
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench import child, command_line, report
from bench.machine import Settings
from bench.runner import run_stage
from bench.stage import TABLE, Side, Stage, Target, read_stage, sizes_of

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
        if {"bench.child", "bench.job"} & {*command}:
            words = command[5:] if command[3] == child.IN_TURN else command[3:]
            module, _, function = words[0].partition(".")
            stage = getattr(importlib.import_module(f"bench.stages.{module}"), function)
            bound = inspect.signature(stage).bind(*words[1:])
            for parameter, value in bound.arguments.items():
                values = value if isinstance(value, tuple) else [value]
                list(map(bound.signature.parameters[parameter].annotation, values))


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
