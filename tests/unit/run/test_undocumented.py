"""The contract with Snakemake: every name beyond its documentation, who uses it, and what happens where it is missing."""

import ast
import inspect
import json
import logging
import re
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake
from snakemake.jobs import Job
from snakemake.persistence import PersistenceBase
from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan

from beirflow.core.errors import ConfigError
from beirflow.run import rules_of_snakefile, undocumented
from beirflow.run.provenance import VERSIONS, check_version
from beirflow.run.rule_job import shell_command
from beirflow.run.undocumented import PlannedJob, WorkflowRun
from record_log_stream import STREAM

REPOSITORY = Path(__file__).parents[3]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(Path(snakemake.__file__).parent.rglob("*.py")))

WORKFLOW = "documented attributes of `workflow` in Snakefiles"
API = "an API that reads rules and gives a job, without a run"
COMMAND_LINE = "an API that takes a command line"
NAMES = {
    "workflow.async_run": ("temporary files that a killed run left", "removing them itself"),
    "workflow.config": ("rules of an audit: their configuration", API),
    "workflow.config_settings": ("values of --config, for messages and the manifest", WORKFLOW),
    "workflow.dag": ("the plan: checks before the first job, progress, lock", WORKFLOW),
    "workflow.deployment_settings": ("whether jobs have a Python of their own", WORKFLOW),
    "workflow.executor_plugin": ("advice to use the better executor for SLURM", WORKFLOW),
    "workflow.global_resources": ("cores and GPUs that jobs share", WORKFLOW),
    "workflow.globals": ("rules of an audit: an experiment that is not from the configuration", API),
    "workflow.include": ("rules of an audit: only files that it needs", API),
    "workflow.is_main_process": ("whether this process plans the run or is one of its jobs", WORKFLOW),
    "workflow.local_exec": ("whether jobs run on this machine", WORKFLOW),
    "workflow.main_snakefile": ("the Snakefile, for commands in messages", WORKFLOW),
    "workflow.modifier": ("names of rules in a module", WORKFLOW),
    "workflow.output_settings": ("whether this is a dry run, and one that shows commands", WORKFLOW),
    "workflow.overwrite_configfiles": ("configuration files, for messages with lines", WORKFLOW),
    "workflow.pathvars": ("the folder of the results", WORKFLOW),
    "workflow.persistence": ("rerun of failed jobs", "running them again even if all requested files are there"),
    "workflow.resource_settings": ("names of rules in set-resources", "refusing a name that no rule has"),
    "workflow.rules": ("names of rules, for messages and --list-rules; digests of their code, for audits", WORKFLOW),
    "workflow.scheduler": ("more than 100 started jobs a second", "one timer in place of one a job"),
    "workflow.storage_settings": ("whether results are in a bucket", WORKFLOW),
    "workflow.tear_down": ("rules of an audit", API),
    "snakemake.api.Workflow": ("rules of an audit", API),
    "snakemake.cli.get_argument_parser": ("words of the command that are options of Snakemake", COMMAND_LINE),
    "snakemake.cli.parse_config": ("configuration of the command, checked before Snakemake starts", COMMAND_LINE),
    "snakemake.common.configfile.load_configfile": ("configuration of the command, as Snakemake reads it", COMMAND_LINE),
    "snakemake.exceptions.WorkflowError": ("rules of an audit that do not fit", API),
    "snakemake.iocontainers.Params": ("rules of an audit", API),
    "snakemake.iocontainers.Wildcards": ("rules of an audit", API),
    "snakemake.jobs.Job": ("rerun of failed jobs", "running them again even if all requested files are there"),
    "snakemake.logging.LoggerManager": ("rules of an audit", API),
    "snakemake.logging.logger": ("rules of an audit", API),
    "snakemake.output_index.OutputIndex": ("rules of an audit: the one that makes a file", API),
    "snakemake.persistence.PersistenceBase": ("rerun of failed jobs", "running them again even if all requested files are there"),
    "snakemake.settings.types": ("rules of an audit", API),
}
"""Names, each with its purpose and with what Snakemake would have to offer in its place."""

DOCUMENTED = {"snakemake.utils.update_config", "snakemake.shell.shell"}

IN_RULES = {"current", "Workflow", "basedir", "cores", "source_path"}
"""What files of rules use: of the logger plug-in, and documented attributes of ``workflow``."""

MODULES = [Path(str(module.__file__)) for module in (undocumented, rules_of_snakefile)]

OWN_FOLDER = ("rule_job.py", ".snakemake")


def imported_of_snakemake(path: Path) -> set[str]:
    """The names that a module imports of Snakemake itself."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    named = {f"{node.module}.{each.name}" for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    named |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    return {name for name in named if name.partition(".")[0] == "snakemake"}


def test_two_modules_use_exactly_the_names_of_the_list() -> None:
    used = {f"workflow.{name}" for module in MODULES for name in re.findall(r"\b_?workflow\.(\w+)", module.read_text())}
    used.update(*map(imported_of_snakemake, MODULES))
    assert used - DOCUMENTED == set(NAMES)


def test_no_other_module_or_file_of_rules_uses_what_snakemake_does_not_document() -> None:
    modules = [path for folder in ("src", "extensions") for path in (REPOSITORY / folder).rglob("*.py")]
    others = [path for path in modules if path not in MODULES and "tests" not in path.parts]
    assert {name for path in others for name in imported_of_snakemake(path)} <= DOCUMENTED
    files = {(path.name, name) for path in others for name in re.findall(r"[\"'](\.snakemake)\b", path.read_text())}
    assert files <= {OWN_FOLDER}
    rules = [REPOSITORY / "Snakefile", REPOSITORY / "workflow/Snakefile", *REPOSITORY.glob("*/**/rules/*.smk")]
    assert len(rules) > 15
    for path in rules:
        text = path.read_text()
        assert {*re.findall(r"\bworkflow\.(\w+)", text)} - {"smk"} <= IN_RULES, path
        assert not re.search(r"^\s*(?:from|import) snakemake\b", text, re.MULTILINE), path


def test_an_older_version_is_refused_and_a_newer_one_is_a_sentence() -> None:
    oldest, newest = VERSIONS["snakemake"]
    for tried in (oldest, f"{oldest}.0", newest, f"{newest}.99"):
        assert check_version("snakemake", tried) == ""
    for newer in ("9.28", "9.28a1", "9.100.0", "10.0", "77.0"):
        sentence = check_version("snakemake", newer)
        assert sentence == f"snakemake {newer} is newer than {newest}, the newest with which this workflow was tried."
    for older in ("9.19.3", "8.99"):
        with pytest.raises(ConfigError, match=f"^snakemake {older} is.* at least {oldest}.*pip install 'snakemake>={oldest}'"):
            check_version("snakemake", older)


def test_the_pinned_version_is_the_one_of_this_test() -> None:
    (pinned,) = re.findall(r"^snakemake==(\S+)", (REPOSITORY / "envs/requirements.txt").read_text(), re.MULTILINE)
    assert check_version("snakemake", pinned) == ""
    recorded = json.loads(STREAM.read_text(encoding="utf-8").splitlines()[0])["snakemake"]
    assert version("snakemake") == pinned == recorded, "record again: python tests/record_log_stream.py"


def test_what_a_version_lacks_is_switched_off_with_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run = WorkflowRun(SimpleNamespace(is_main_process=True, main_snakefile="Snakefile"))
        assert (run.planned_jobs, run.limits, run.kept_files, run.read_files, run.named_rules) == ({}, {}, set(), set(), set())
        assert (run.is_in_this_python, run.is_dry, run.rules, run.configfiles, run.executor) == (False, False, [], [], "")
        run.start_jobs_at_any_rate()
        run.remove_temporary_inputs("merge_chunks", "candidates")
    assert all(record.getMessage().startswith(f"Snakemake {version('snakemake')} is other than") for record in caplog.records)
    assert len(caplog.records) >= 12


@pytest.mark.parametrize(("dry", "shows"), [(True, False), (True, True), (False, False), (False, True)])
def test_only_a_plan_that_shows_no_commands_formats_none(dry: bool, shows: bool) -> None:
    settings = SimpleNamespace(dryrun=dry, printshellcmds=shows)
    hides = WorkflowRun(SimpleNamespace(output_settings=settings, modifier=named("*"))).hides_commands
    command, shown = shell_command(hidden=hides), shell_command(hidden=False)
    job: Any = SimpleNamespace(rule=SimpleNamespace(shellcmd=command), format_wildcards=str.upper)
    assert Job.shellcmd.fget(job) == (None if dry and not shows else shown.upper())
    code = PersistenceBase._code.__wrapped__(None, job.rule)  # which --rerun-triggers code compares
    assert code == str(shown)


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
