"""The arguments of the function of a rule: by name, from one source, and nothing left over."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from snakemake.iocontainers import InputFiles, OutputFiles, Params, Wildcards

from beirflow.core.artifact import Step
from beirflow.core.records import Job
from beirflow.run.by_name import FUNCTION, by_name
from beirflow.run.rule_call import OWN, TRIGGER, Sources, parameters_of, run_rule
from workflow_rules import workflow_rules

S_co = TypeVar("S_co", covariant=True)
JOB = Job(Path("results"), "rule/a", "c0de")


@dataclass(frozen=True)
class Settings:
    name: str
    depth: int = 3


class Pair(NamedTuple):
    one: str
    two: int = 0


@dataclass(frozen=True)
class Computing(Generic[S_co]):
    settings: S_co
    model_path: str
    threads: int
    device: str = "auto"
    token_budget: int | str = "auto"


def snakemake(**parts: Any) -> Any:
    """Return Snakemake's object of a job, with the arguments of the test in place of the usual parts."""
    kinds = {"input": InputFiles, "output": OutputFiles, "params": Params, "wildcards": Wildcards}
    given = {"input": {}, "output": {}, "wildcards": {}} | parts
    given["params"] = {"function": "beirflow.package:f", "code": "c0de"} | parts.get("params", {})
    named = {name: kind(fromdict=given[name]) for name, kind in kinds.items()}
    return SimpleNamespace(
        rule="a",
        threads=2,
        config={"device": "cpu", "token_budget": 9, "jobs_per_gpu": 1, "top_k": 5},
        log=["results/logs/a.log"],
        **named,
    )


def arguments(function: Callable[..., Any], **parts: Any) -> dict[str, Any]:
    return Sources(snakemake(**parts), JOB).arguments(function)


def refuses(function: Callable[..., Any], says: str, **parts: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(says)):
        arguments(function, **parts)


@pytest.fixture
def package() -> Iterator[ModuleType]:
    """A module of the package that params may name."""
    module = sys.modules["beirflow.package"] = ModuleType("beirflow.package")
    yield module
    del sys.modules["beirflow.package"]


def test_inputs_outputs_wildcards_and_params_go_to_the_parameters_of_their_names() -> None:
    def f(
        *, run_path: str, means_paths: Sequence[str], query_paths: Sequence[str], chunk: int, system: str, job: Job
    ) -> None: ...

    files = {"run": "r", "means": ["m", "n"], "queries": ["q"], "only_awaited": "x"}
    taken = {"run_path": "r", "means_paths": ["m", "n"], "query_paths": ["q"]}
    assert arguments(f, input=files, wildcards={"chunk": "07", "system": "7"}) == {**taken, "chunk": 7, "system": "7", "job": JOB}


def test_outputs_have_their_folder_and_a_rule_without_any_has_that_of_the_results() -> None:
    def f(*, output_path: str = "", record_path: str = "", folder: str, results: Path) -> None: ...

    table, record = "results/tables/a.csv", "results/tables/a.json"
    found = arguments(f, output={"table": table, "record": record})
    assert list(found.values()) == [table, record, "results/tables", Path("results")]
    assert arguments(f) == {"folder": "results", "results": Path("results")}


def test_a_path_of_a_list_is_its_only_file_or_the_default() -> None:
    def f(*, ranges_path: str | None = None) -> None: ...

    assert arguments(f, input={"ranges": ["r"]}) == {"ranges_path": "r"}
    assert arguments(f, input={"ranges": []}) == arguments(f) == {}


def test_a_parameter_without_a_default_needs_a_source_and_two_must_not_differ() -> None:
    def f(*, system: str, device: str, run_path: str = "", threads: int, top_k: int = 1) -> None: ...

    # Of the configuration, only what changes no result is passed by name.
    expected, same = {"system": "s", "device": "cpu", "threads": 2}, {"system": "s"}
    assert arguments(f, wildcards=same) == arguments(f, wildcards=same, params=same) == expected
    refuses(f, "rule a: the parameter system of beirflow.package:f has no source")
    says = "the parameter system of beirflow.package:f has two different sources, params and wildcards"
    refuses(f, says, wildcards=same, params={"system": "t"})
    refuses(f, "two different sources, input.run and output.run", wildcards=same, input={"run": "a"}, output={"run": "b"})


def test_params_that_nothing_takes_are_an_error_unless_they_only_make_a_job_run_again() -> None:
    def f(*, top_k: int = 1) -> None: ...

    assert arguments(f, params={"finder_code": "x", "model_states": ["x"], "run_state": "x"}) == {}
    refuses(f, "rule a: beirflow.package:f takes no depht of the params", params={"depht": 4})
    refuses(f, "f takes no retrieval.drop of the params", params={"retrieval": {"top_k": 4, "drop": 1}})


def test_keys_of_a_mapping_go_to_parameters_or_fields_unless_one_takes_it_as_a_whole() -> None:
    def f(
        *, settings: Settings, index: Pair | None = None, call: Settings | None = None, rows: Mapping[str, str], top: int
    ) -> None: ...

    params = {"settings": {"name": "s"}, "index": {"one": "a", "two": 2}, "rows": {"top": "a"}, "retrieval": {"top": 4}}
    assert arguments(f, params=params) == {"settings": Settings("s"), "index": Pair("a", 2), "rows": {"top": "a"}, "top": 4}

    def g(*, computing: Computing[Settings]) -> None: ...

    made = arguments(g, params={"settings": {"name": "s", "depth": 4}}, input={"model": "m"}, wildcards={"name": "other"})
    assert made == {"computing": Computing(Settings("s", 4), "m", 2, "cpu", 9)}


def test_params_may_name_a_function_to_pass_or_to_make_an_argument_with(package: ModuleType) -> None:
    def make(kind: str, settings: Mapping[str, Any]) -> tuple[str, Any]:
        return kind, settings["name"]

    package.make = make

    def f(*, settings: tuple[str, Any], measure: Callable[[int], int]) -> None: ...

    asked = {"kind": "k", "settings": {"name": "s"}}
    params = {"settings": "beirflow.package:make()", "measure": "beirflow.package:make", "asked": asked}
    assert arguments(f, params=params) == {"settings": ("k", "s"), "measure": make}


def test_what_a_function_returns_is_for_the_terminal(
    package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    package.f = lambda *, folder, job: f"{job.name} in {folder}"
    run_rule(snakemake())
    assert capsys.readouterr().out == "a in results\n"


def test_a_job_has_done_its_work_where_nobody_reads_what_it_returns(
    package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, written = os.pipe()
    os.close(read)
    monkeypatch.chdir(tmp_path)
    package.f = lambda *, job: job.name
    with open(written, "w") as stream:  # noqa: PTH123 (a descriptor)
        monkeypatch.setattr("sys.stdout", stream)
        run_rule(snakemake())


SPREAD = {"asked", "expected", "retrieval", "settings", "variant"}
"""Mappings in params whose keys go to parameters; these are known only when a job runs."""


def test_every_rule_and_its_entrance_agree_in_names() -> None:
    for rule, of_snakemake in workflow_rules().items():
        if of_snakemake.params.get("function"):
            assert_agree(rule, of_snakemake)


def assert_agree(rule: str, of_snakemake: Any) -> None:
    """A rule gives its function what it needs, and nothing else."""
    params = dict(of_snakemake.params.items())
    names = {"input": [*of_snakemake.input.keys()], "output": [*of_snakemake.output.keys()], "params": [*params]}
    stated = {name: value for name, value in params.items() if isinstance(value, str) and re.match(FUNCTION, value)}
    of_rule = snakemake(
        input={name: ["x"] for name in names["input"]},
        output=dict.fromkeys(names["output"], "x") or {"only": "x"},
        params=dict.fromkeys(names["params"], "x") | stated,
        wildcards=dict.fromkeys(re.findall(r"\{(\w+)", str(of_snakemake.log)), "1"),
    )
    sources, function = Sources(of_rule, JOB), by_name(stated["function"])
    if isinstance(function, Step):
        function = function.function
    files = {each.name for each in parameters_of(function) if each.artifact}
    assert files <= {*names["input"]}, rule
    wanted = {*sources._names(parameters_of(function), frozenset())} - files
    spread = {name for name in names["params"] if name not in wanted and name not in OWN and not TRIGGER.fullmatch(name)}
    assert spread <= SPREAD, rule
    needed = [each for each in parameters_of(function) if each.default is inspect.Parameter.empty and each.name in wanted]
    assert spread or [each.name for each in needed if not (each.is_object or sources._sources[each.name])] == [], rule
    # The first output is behind `output_path` and `folder`; records, and the judgements of a corpus, lie beside their files.
    taken = {name.rpartition("_")[0] for name in wanted} | {"record", "qrels", "corpus"}
    others = set(names["output"][1:])
    assert files or "folder" in wanted or rule == "export_tables" or others <= taken | {f"{name}s" for name in taken}, rule


IMPORTED_LATER = """
import builtins, sys
import beirflow.run.rule_call
import pyarrow, numpy
plain, later = builtins.__import__, []
def noting(name, *others, **more):
    later.extend([name] if name.partition(".")[0] == "pandas" and name not in sys.modules else [])
    return plain(name, *others, **more)
builtins.__import__ = noting
pyarrow.array(numpy.arange(3))
print("pandas" in sys.modules, later)
"""


def test_arrow_imports_nothing_more_in_a_job_since_it_would_lose_a_signal_meanwhile() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED_LATER], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"
