"""The contract with the pinned version of Snakemake: names, signatures, messages, and who uses them."""

import inspect
import json
import re
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake
from snakemake.exceptions import WorkflowError
from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan

from beirflow.run.snakemake_internals import failed_jobs, names, terminal
from beirflow.run.snakemake_internals.workflow_run import VERSIONS, PlannedJob, WorkflowRun, check_version
from record_log_stream import STREAM

REPOSITORY = Path(__file__).parents[3]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(Path(snakemake.__file__).parent.rglob("*.py")))
INTERNAL = r"^\s*(?:from|import) snakemake|(?<!\w)\.snakemake|DefaultStreamHandler|--slurm-|shell\.prefix"
INTERNAL_IN_RULES = rf"{INTERNAL}|\bworkflow\.\w+"
"""In files of rules, ``workflow`` is Snakemake's object."""


@pytest.mark.parametrize(
    ("package", "accepted", "refused"),
    [
        ("snakemake", ["9.20", "9.27.1", "9.27.99"], ["9.19.3", "9.28", "9.28.0", "9.28a1", "10.0", "8.99"]),
    ],
)
def test_another_version_is_refused_with_what_to_install(package: str, accepted: list[str], refused: list[str]) -> None:
    for installed in accepted:
        check_version(package, installed)
    oldest, beyond = VERSIONS[package]
    says = f"is.* at least {oldest} and less than {beyond}.*pip install '{package}>={oldest},<{beyond}'"
    for installed in refused:
        with pytest.raises(WorkflowError, match=f"^{package} {installed} {says}"):
            check_version(package, installed)


def test_the_pinned_version_is_the_one_of_this_test() -> None:
    (pinned,) = re.findall(r"^snakemake==(\S+)", (REPOSITORY / "envs/requirements.txt").read_text(), re.MULTILINE)
    check_version("snakemake", pinned)
    recorded = json.loads(STREAM.read_text(encoding="utf-8").splitlines()[0])["snakemake"]
    assert version("snakemake") == pinned == recorded, "record again: python tests/record_log_stream.py"


def test_no_other_file_uses_what_snakemake_does_not_document() -> None:
    door = REPOSITORY / "src/beirflow/run/snakemake_internals"
    rules = [REPOSITORY / "Snakefile", REPOSITORY / "workflow/Snakefile", *(REPOSITORY / "workflow/rules").glob("*.smk")]
    modules = [path for path in (REPOSITORY / "src").rglob("*.py") if door not in path.parents]
    uses = {
        (path.name, use)
        for expression, paths in ((INTERNAL_IN_RULES, rules), (INTERNAL, modules))
        for path in paths
        for use in re.findall(expression, path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    leading_to_the_door = {("Snakefile", "workflow.include"), ("Snakefile", "workflow.current_basedir")}
    assert uses == {*leading_to_the_door, ("rule_job.py", ".snakemake")}  # a folder of our own there
    for text in ("from snakemake.jobs import Job", 'x = "a/.snakemake/locks"', "jobs = workflow.dag.jobs", "import snakemake_x"):
        assert re.search(INTERNAL_IN_RULES, text)


BEGINNINGS = [*terminal.NOISE, terminal.NOTHING, terminal.INTERRUPTED, terminal.ENDING, terminal.FAILED, "No rule to produce "]


def test_names_and_beginnings_of_messages_are_those_of_snakemake() -> None:
    assert [each for each in BEGINNINGS if not re.search(rf"[\"']{re.escape(each)}", SOURCE)] == []
    assert [name for name in (terminal.HANDLER, names.TIMESTAMP, *terminal.OF_FAILED_JOBS[:1]) if name not in SOURCE] == []


def test_the_limit_of_started_jobs_is_lifted_unless_the_command_line_has_another() -> None:
    assert 'default="100/1s"' in SOURCE
    assert "self.job_rate_limiter is not None" in inspect.getsource(JobScheduler.schedule)
    for said, stays in (("100/1s", False), ("50/1s", True), ("100/1m", True)):
        limiter = JobRateLimiter(MaxJobsPerTimespan.parse_choice(said))
        scheduler = SimpleNamespace(job_rate_limiter=limiter)
        WorkflowRun(SimpleNamespace(scheduler=scheduler, modifier=named("*"))).start_jobs_at_any_rate()
        assert scheduler.job_rate_limiter is (limiter if stays else None), said


def named(names: str) -> Any:
    """The modifier of a module whose rules have such names."""
    return SimpleNamespace(modify_rulename=lambda rule: names.replace("*", rule))


def planned(rule: str, folder: Path) -> Any:
    candidates, wildcards = {"candidates": [str(folder / rule)]}, {"system": "bm25"}
    own = SimpleNamespace(name=f"their_{rule}", params=["beirflow.ranking.merge:merge_chunks", 7, "beirflow", "a text"])
    own.resources = {"gpu": 1}
    return SimpleNamespace(rule=own, input=candidates, output=[], wildcards=wildcards)


def test_the_run_tells_its_plan_and_removes_what_a_killed_run_left(tmp_path: Path) -> None:
    jobs = [planned(rule, tmp_path) for rule in ("merge_chunks", "evaluate_run", "all")]  # two have ended
    dag, removed = SimpleNamespace(jobs=jobs, jobid=jobs.index, handle_temp=lambda job: job.rule.name), []
    dag.needrun, dag.needrun_jobs = jobs[2:].__contains__, lambda: jobs[2:]
    run = WorkflowRun(SimpleNamespace(dag=dag, async_run=removed.append, modifier=named("their_*")))
    assert run.planned_jobs == {
        2: PlannedJob("all", {"system": "bm25"}, writes=False, functions=("beirflow.ranking.merge:merge_chunks",), uses_gpu=True)
    }
    run.remove_temporary_inputs("merge_chunks", "candidates")
    assert removed == []
    (tmp_path / "merge_chunks").touch()
    run.remove_temporary_inputs("merge_chunks", "candidates")
    assert removed == ["their_merge_chunks"]


def test_snakemake_has_the_methods_that_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from snakemake.jobs import Job
    from snakemake.persistence import PersistenceBase

    replaced, before = {(Job, "postprocess"), (PersistenceBase, "incomplete")}, {}
    for owner, name in replaced:
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back afterwards
        before[name] = inspect.signature(getattr(owner, name))
    assert "error" in before["postprocess"].parameters
    assert list(before["incomplete"].parameters) == ["self", "job"]
    assert {"_get_key", "_filter_incomplete_keys", "started"} <= set(dir(PersistenceBase))
    failed_jobs.rerun_failed_jobs()
    assert all(getattr(owner, name).__module__ == failed_jobs.__name__ for owner, name in replaced)
