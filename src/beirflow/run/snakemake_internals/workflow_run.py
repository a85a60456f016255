"""A run of Snakemake, as its Snakefile sees it: version, settings, plan and limits."""

import gc
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.core.addresses import shown
from beirflow.run.lifetime import end_with_this_process

VERSIONS = {"snakemake": ("9.20", "9.28")}
"""Versions with which this package works: from the first, before the second."""

FUNCTION = re.compile(r"beirflow\.[\w.]+:\w+")  # a function of the package in the params of a rule

DEFAULT_RATE = (100, 1)
"""Started jobs, and the seconds in which they may start, without ``--max-jobs-per-timespan``."""


def check_version(package: str, installed: str | None = None) -> None:
    """Raise WorkflowError for a version, by default the installed one, on which this package has not been tested."""
    from snakemake.exceptions import WorkflowError

    installed, (oldest, beyond) = installed or version(package), VERSIONS[package]
    if not _numbers(oldest) <= _numbers(installed) < _numbers(beyond):
        raise WorkflowError(
            f"{package} {installed} is installed; this workflow needs at least {oldest} and less than {beyond}, because it relies"
            f" on what other versions may do otherwise. Install it with: pip install '{package}>={oldest},<{beyond}'"
        )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


class PlannedJob(NamedTuple):
    """A job of the plan."""

    rule: str  # name of its rule in this workflow, also where another uses it as a module and has names of its own
    wildcards: dict[str, str]  # their values by name
    writes: bool  # whether it has outputs
    # the functions of the package that it calls, ``module:function``; none for a rule that only names files
    functions: tuple[str, ...]
    uses_gpu: bool = False  # whether it takes a GPU where there is one, as all jobs that compute with a model do

    @property
    def computes(self) -> bool:
        """Test whether it calls one."""
        return bool(self.functions)


class WorkflowRun:
    """The run that this process belongs to, from Snakemake's object ``workflow``."""

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow
        # What a plan makes lives until its end: to look through all of it again and again for garbage takes a fifth of its time.
        gc.set_threshold(100_000, 50, 100)
        # Of a module, the names are those of ``use rule * from beirflow as beirflow_*``.
        self._before, _, self._behind = workflow.modifier.modify_rulename("*").partition("*")

    def _name(self, rule: Any) -> str:
        return str(rule.name).removeprefix(self._before).removesuffix(self._behind)

    @property
    def is_main(self) -> bool:
        """Test whether this process plans the run, and does not run one of its jobs."""
        return bool(self._workflow.is_main_process)

    @property
    def command(self) -> set[str]:
        """Return the words of the command that plans the run; none in one of its jobs."""
        return {*sys.argv} if self.is_main else set()

    @property
    def executor(self) -> str:
        """Return the name of the executor that runs the jobs, such as ``local``; it is known once the run starts."""
        return str(self._workflow.executor_plugin.name)

    @property
    def is_local(self) -> bool:
        """Test whether jobs run on this machine, started by this process."""
        return self.is_main and bool(self._workflow.local_exec)

    @property
    def is_in_this_python(self) -> bool:
        """Test whether jobs run by this Python, with its packages, and not in environments for conda or in containers."""
        return self.is_local and not self.deploys

    @property
    def deploys(self) -> bool:
        """Test whether jobs run in environments for conda or in containers."""
        return bool(self._workflow.deployment_settings.deployment_method)

    @property
    def is_dry(self) -> bool:
        """Test whether nothing is run but the plan printed."""
        return bool(self._workflow.output_settings.dryrun)

    @property
    def quiet(self) -> set[str]:
        """Names of what ``--quiet`` suppresses, in small letters."""
        return {each.name.lower() for each in self._workflow.output_settings.quiet or ()}

    @property
    def targets(self) -> set[str]:
        """Files and rules that were asked for."""
        return set(self._workflow.dag_settings.targets)

    @property
    def is_moved(self) -> bool:
        """Test whether ``--directory`` named the working folder."""
        return self._workflow.overwrite_workdir is not None

    @property
    def rules(self) -> list[str]:
        """Names of all rules."""
        return [rule.name for rule in self._workflow.rules]

    @property
    def configfiles(self) -> list[str]:
        """Configuration files of the command line."""
        return [str(path) for path in self._workflow.overwrite_configfiles]

    @property
    def trusted_folders(self) -> list[Path]:
        """Folders of the configuration files of the command line and of the Snakefile, and that around a ``workflow/Snakefile``.

        Code in them is the user's own. That of the working folder may be by others, if ``--directory`` names a copied one.
        """
        snakefile = Path(str(self._workflow.main_snakefile)).absolute()
        around = [snakefile.parents[1]] if snakefile.parent.name == "workflow" else []
        return [*(Path(path).absolute().parent for path in self.configfiles), snakefile.parent, *around]

    @property
    def _said(self) -> dict[str, Any]:
        """Return the configuration of the command line."""
        return dict(self._workflow.config_settings.config or {})

    @property
    def origin(self) -> dict[str, Any]:
        """Return the origin of the configuration, for ``load_experiment``: files, words of the command, keys in ``--config``."""
        return {"config_files": self.configfiles, "command": self.command, "own_keys": list(self._said)}

    @property
    def call(self) -> dict[str, Any]:
        """Snakefile, working directory, configuration files, and configuration of the command line."""
        return {
            "snakefile": str(self._workflow.main_snakefile),
            "directory": str(Path.cwd()),
            "configfiles": self.configfiles,
            # Snakemake writes this into files, which stay if it is killed.
            "config": {key: value for key, value in self._said.items() if shown(value) == value},
        }

    @property
    def options(self) -> str:
        """Return the options of another command with the same Snakefile, folder and configuration, a space before each."""
        here, words = Path.cwd(), list[str]()
        moved = Path(os.environ.get("PWD", here)).resolve() != here.resolve()  # by --directory
        if moved or Path(self._workflow.main_snakefile).parent not in (here, here / "workflow"):
            words += ["--snakefile", str(self._workflow.main_snakefile)]
        words += ["--directory", str(here)] if moved else []
        shorter = [path if moved else path.removeprefix(f"{here}/") for path in self.configfiles]
        open_config = shown(self._said)  # jobs and messages have these options
        said = {
            key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in open_config.items()
        }
        for option, values in (("--configfile", shorter), ("--config", [f"{key}={value}" for key, value in said.items()])):
            words += [option, *values] if values else []
        return "".join(f" {shlex.quote(word)}" for word in words)

    @property
    def bucket(self) -> str | None:
        """Return the place of all results, if it is not this machine."""
        settings = self._workflow.storage_settings
        return None if settings.default_storage_provider is None else str(settings.default_storage_prefix)

    @property
    def limits(self) -> dict[str, int]:
        """Cores and GPUs that all jobs share, ``_cores`` and ``gpu``; none where an executor of a cluster decides."""
        resources = self._workflow.global_resources
        values = {name: resources[name].value for name in ("_cores", "gpu") if name in resources}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def planned_jobs(self) -> dict[int, PlannedJob]:
        """The jobs that will run, by number."""
        return {
            self._workflow.dag.jobid(job): PlannedJob(
                self._name(job.rule),
                dict(job.wildcards.items()),
                bool(job.output),
                _functions(job.rule),
                "gpu" in job.rule.resources,
            )
            for job in self._workflow.dag.needrun_jobs()
        }

    @property
    def read_files(self) -> set[str]:
        """Return the files that the planned jobs read and none of them makes."""
        jobs = list(self._workflow.dag.needrun_jobs())
        return {str(path) for job in jobs for path in job.input} - {str(path) for job in jobs for path in job.output}

    @property
    def kept_files(self) -> set[str]:
        """Return the outputs of the planned files' jobs that do not run, because all that they make is there."""
        dag = self._workflow.dag
        return {str(path) for job in dag.jobs if not dag.needrun(job) for path in job.output}

    def path(self, pattern: str) -> str:
        """Return a path with its variables, such as ``<results>``, filled in."""
        return str(self._workflow.pathvars.apply(pattern))

    def start_jobs_at_any_rate(self) -> None:
        """Lift Snakemake's limit of started jobs in a second, unless the command line has another.

        With a limit every look for jobs that can start, one whenever a job ends, repeats itself in each second that others wait:
        after a thousand jobs Snakemake looks a thousand times a second. Upstream would have to keep one timer.
        """
        scheduler = self._workflow.scheduler
        limit = scheduler.job_rate_limiter
        if limit is not None and (limit.max_jobs, limit.timespan) == DEFAULT_RATE:
            scheduler.job_rate_limiter = None

    def remove_temporary_inputs(self, rule: str, name: str) -> None:
        """Remove the temporary inputs, of a name, of finished jobs of a rule, which a killed run left behind."""
        for job in self._workflow.dag.jobs:
            if self._name(job.rule) == rule and not self._workflow.dag.needrun(job) and any(map(os.path.exists, job.input[name])):
                self._workflow.async_run(self._workflow.dag.handle_temp(job))


def keep_folders_off_the_path() -> None:
    """Keep the working folder, which may be by others, from jobs' search path of Python.

    An empty or relative entry of PYTHONPATH means another folder in a job than where the command was given.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    if entries := os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(each for each in entries.split(os.pathsep) if Path(each).is_absolute())


def search_first(folders: Sequence[Path]) -> None:
    """Let jobs search some folders before others for modules."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = [str(folder) for folder in folders]
    if path := os.pathsep.join([*own, *(each for each in entries if each and each not in own)]):
        os.environ["PYTHONPATH"] = path


def _functions(rule: Any) -> tuple[str, ...]:
    return tuple(value for value in rule.params if isinstance(value, str) and FUNCTION.match(value))


def end_jobs_with_this_process() -> None:
    """Let every job end with this process. Snakemake starts a shell, with this prefix before its command."""
    from snakemake.shell import shell

    shell.prefix(end_with_this_process())
