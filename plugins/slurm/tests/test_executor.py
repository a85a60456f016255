"""The executor as Snakemake finds it, and its parts with versions of the plug-in that do not exist."""

import argparse
import inspect
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake_executor_plugin_slurm as upstream
from packaging.requirements import Requirement
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

import snakemake_executor_plugin_beirflow_slurm as package
from snakemake_executor_plugin_beirflow_slurm import FITTING, OLDEST, PARTS, TESTED, array_task, check_version
from snakemake_executor_plugin_beirflow_slurm.job_start import SingleSnakemake
from snakemake_executor_plugin_beirflow_slurm.states import WatchedJobs
from snakemake_executor_plugin_beirflow_slurm.submissions import RepeatedSubmissions

FOLDER = Path(__file__).parents[1]


def test_snakemake_finds_the_executor_beside_that_of_the_plugin() -> None:
    plugins = ExecutorPluginRegistry().plugins
    assert plugins["beirflow-slurm"].executor is package.Executor
    assert plugins["slurm"].executor is upstream.Executor
    assert package.Executor.__mro__[1:5] == (*PARTS, upstream.Executor)
    assert not inspect.isabstract(package.Executor)


def test_its_settings_are_those_of_the_plugin_with_its_name_before_them() -> None:
    plugin = ExecutorPluginRegistry().plugins["beirflow-slurm"]
    parser = argparse.ArgumentParser()
    plugin.register_cli_args(parser, "executor")
    settings = plugin.get_settings(parser.parse_args(["--beirflow-slurm-array-limit", "25", "--beirflow-slurm-requeue"]))
    assert isinstance(settings, upstream.ExecutorSettings)
    assert (settings.array_limit, settings.requeue) == (25, True)


def changed(name: str, method: Any) -> type:
    """The plug-in's executor with another method, or without one."""
    others = {key: value for key, value in vars(upstream.Executor).items() if key not in (name, "__dict__", "__weakref__")}
    bases = (object,) if method is None else upstream.Executor.__bases__
    return type("Executor", bases, others if method is None else {**others, name: method})


def later_run_job(self: Any, job: Any, cluster: str = "") -> None: ...
def later_run_array_jobs(self: Any, jobs: Any) -> None: ...
async def later_check(self: Any, active_jobs: Any) -> Any: ...
def later_args(self: Any) -> str:
    return "--executor slurm-step"


@pytest.mark.parametrize(
    ("name", "method", "left_out"),
    [
        ("run_job", later_run_job, {RepeatedSubmissions}),
        ("run_jobs", later_run_job, {RepeatedSubmissions}),
        ("run_array_jobs", later_run_array_jobs, {RepeatedSubmissions, SingleSnakemake}),
        ("_report_job_error_threadsafe", None, {RepeatedSubmissions}),
        ("check_active_jobs", later_check, {WatchedJobs}),
        ("get_status_command", None, {WatchedJobs}),
        ("additional_general_args", later_args, {SingleSnakemake}),
        ("shutdown", later_args, set()),
    ],
)
def test_a_part_whose_methods_are_others_is_left_out(name: str, method: Any, left_out: set[type]) -> None:
    plugin = changed(name, method)
    if method is None:
        for inherited in ("get_python_executable", "get_job_args", "cancel"):
            setattr(plugin, inherited, getattr(upstream.Executor, inherited))
    assert {part for part in PARTS if not part.fits(plugin)} == left_out


def test_an_older_version_is_refused_and_a_newer_one_is_a_line_that_says_what_is_left_out() -> None:
    assert FITTING == PARTS
    assert check_version(version(package.UPSTREAM), FITTING) == ""  # the one with which this test runs
    for installed in ("2.8.0", "2.8.99"):
        assert check_version(installed, PARTS) == ""
    for installed in ("2.9.0", "2.10", "3.0.0rc1"):
        assert check_version(installed, PARTS).endswith(
            f" {installed} is installed; the executor beirflow-slurm was tested with 2.8"
        )
    for installed in ("2.8.1", "3.1"):
        line = check_version(installed, (RepeatedSubmissions, SingleSnakemake))
        assert f"plugin-slurm {installed} is installed" in line
        assert line.endswith(WatchedJobs.WITHOUT)
        assert "\n" not in line
    for installed in ("2.7.1", "1.9"):
        with pytest.raises(
            WorkflowError, match=rf"slurm {installed} is.* at least 2.8.*pip install 'snakemake-executor-plugin-slurm>=2.8,<3'"
        ):
            check_version(installed, PARTS)


STARTED = """
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
executor = ExecutorPluginRegistry().plugins["beirflow-slurm"].executor
from snakemake_executor_plugin_beirflow_slurm import FITTING, UPSTREAM, check_version, version
print(*(each.__name__ for each in executor.__mro__[:3]), executor.check_active_jobs.__module__)
print(check_version(version(UPSTREAM), FITTING))
"""


def test_snakemake_starts_with_a_later_plugin_whose_own_behaviour_remains_where_it_differs(tmp_path: Path) -> None:
    later = shutil.copytree(Path(upstream.__file__).parent, tmp_path / "snakemake_executor_plugin_slurm") / "__init__.py"
    code = later.read_text()
    assert code.count("self, active_jobs: List[SubmittedJobInfo]\n") == 1
    later.write_text(
        code.replace("self, active_jobs: List[SubmittedJobInfo]\n", "self, jobs, cluster\n").replace("slurm-jobstep ", "step ")
    )
    metadata = tmp_path / "snakemake_executor_plugin_slurm-2.99.0.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: snakemake-executor-plugin-slurm\nVersion: 2.99.0\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{FOLDER / 'src'}"}
    done = subprocess.run([sys.executable, "-c", STARTED], env=environment, capture_output=True, text=True, check=False)
    executor, warning = done.stdout.splitlines()
    assert executor == "Executor RepeatedSubmissions Executor snakemake_executor_plugin_slurm"
    assert warning == (
        "snakemake-executor-plugin-slurm 2.99.0 is installed; the executor beirflow-slurm was tested with 2.8, and does not know"
        f" some methods of this one: {WatchedJobs.WITHOUT}; {SingleSnakemake.WITHOUT}"
    )


def test_the_project_requires_the_versions_that_are_accepted() -> None:
    (required,) = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["dependencies"]
    requirement = Requirement(required)
    assert requirement.name == package.UPSTREAM
    for installed, accepted in (("2.7.1", False), ("2.8.0", True), ("2.99", True), ("3.0", False)):
        assert requirement.specifier.contains(installed) == accepted
    assert OLDEST == (2, 8) <= TESTED


def test_a_job_is_one_snakemake_that_starts_through_the_program_for_tasks_of_arrays() -> None:
    class Plugin:
        tmpdir = "/my folder/notes"

        def get_python_executable(self) -> str:
            return "/my folder/python"

        def get_job_args(self, job: Any) -> str:
            return f"--target-jobs {job.name}"

    executor: Any = type("Executor", (SingleSnakemake, Plugin), {})()
    assert executor.additional_general_args() == ""
    assert executor.get_python_executable() == f"'/my folder/python' -IS {array_task.__file__} '/my folder/python'"
    job = SimpleNamespace(name="merge", jobid=7, attempt=2)
    assert executor.get_job_args(job) == f"--target-jobs merge '{array_task.NOTE}/my folder/notes/7-2'"
