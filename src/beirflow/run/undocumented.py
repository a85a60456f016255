"""Uses of Snakemake beyond its documentation: here, in ``rules_of_snakefile.py``, and nowhere else.

Each tries itself before it relies on what it needs. Where a version of Snakemake lacks that, the use is switched off with a
sentence, and the run goes on without it. ``tests/unit/run/test_undocumented.py`` lists every name, why it is used, and what
Snakemake would have to offer.
"""

import functools
import gc
import inspect
import json
import logging
import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.core.addresses import shown
from beirflow.run.by_name import FUNCTION

logger = logging.getLogger(__name__)

LOCKS = ".snakemake/locks"  # folder of the lists of what runs in a working directory write, a file a run with a path a line
TIMESTAMP = ".snakemake_timestamp"  # name of an empty file in each folder that is the output of a rule
NOTES = ".snakemake/beirflow"  # our own folder next to Snakemake's notes, and as safe to delete

DEFAULT_RATE = (100, 1)
"""Started jobs, and the seconds in which they may start, without ``--max-jobs-per-timespan``."""


def otherwise(value: Callable[[], Any], without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a substitute, with a warning, where Snakemake lacks what the function needs."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function."""

        @functools.wraps(function)
        def tried(*arguments: Any) -> Any:
            """Call the function; return the substitute if Snakemake lacks something."""
            try:
                return function(*arguments)
            except (AttributeError, ImportError, KeyError, TypeError) as error:
                logger.warning("Snakemake %s is other than the tested versions (%s): %s", version("snakemake"), error, without)
                return value()

        return tried

    return decorate


class PlannedJob(NamedTuple):
    """A job of the plan."""

    rule: str  # name of its rule in this workflow, also where another uses it as a module and has names of its own
    wildcards: dict[str, str]  # their values by name
    writes: bool  # whether it has outputs
    # the functions of the package that it calls, ``module:function``; none for a rule that only names files
    functions: tuple[str, ...]
    uses_gpu: bool = False  # whether it takes a GPU where there is one, as all jobs that compute with a model do

    @property
    def system(self) -> str | None:
        """The system that it is about; None for none, or several."""
        return self.wildcards.get("system")

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
        self._before, _, self._behind = self._names.partition("*")

    @property
    @otherwise(lambda: "*", "rules of a module have the names that it gives them")
    def _names(self) -> str:
        return str(self._workflow.modifier.modify_rulename("*"))

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
    @otherwise(str, "the executor is not recommended")
    def executor(self) -> str:
        """Return the name of the executor that runs the jobs, such as ``local``; it is known once the run starts."""
        return str(self._workflow.executor_plugin.name)

    @property
    @otherwise(lambda: False, "jobs start without a warm worker")
    def is_in_this_python(self) -> bool:
        """Test whether this process starts the jobs, by this Python with its packages, and not in environments or containers."""
        return self.is_main and bool(self._workflow.local_exec) and not self.deploys

    @property
    @otherwise(lambda: False, "jobs run by this Python")
    def deploys(self) -> bool:
        """Test whether jobs run in environments for conda or in containers."""
        return bool(self._workflow.deployment_settings.deployment_method)

    @property
    @otherwise(lambda: bool({"-n", "--dry-run", "--dryrun"} & {*sys.argv}), "a dry run is known by its option")
    def is_dry(self) -> bool:
        """Test whether nothing is run but the plan printed."""
        return bool(self._workflow.output_settings.dryrun)

    @property
    @otherwise(lambda: False, "a plan formats the command of each job, shown or not")
    def hides_commands(self) -> bool:
        """Test whether nothing is run but the plan printed, without the commands of its jobs."""
        return self.is_dry and not self._workflow.output_settings.printshellcmds

    @property
    def is_moved(self) -> bool:
        """Test whether ``--directory`` named another working folder than that of the command."""
        return Path(os.environ.get("PWD", Path.cwd())).resolve() != Path.cwd().resolve()

    @property
    @otherwise(list, "no similar rules are named")
    def rules(self) -> list[str]:
        """Names of all rules."""
        return [rule.name for rule in self._workflow.rules]

    @otherwise(lambda: None, "--list-rules has names alone")
    def describe_rules(self) -> None:
        """Let ``--list-rules`` say what each rule does, in the words that its jobs print."""
        for rule in self._workflow.rules:
            rule.docstring = re.sub(r"\{wildcards\.(\w+)\}", r"<\1>", rule.message or "")

    @property
    @otherwise(dict, "an audit compares no digests of code")
    def codes(self) -> dict[str, str | None]:
        """Digests of the code of all rules, by their names in this workflow; None for a rule without one."""
        return {self._name(rule): rule.params.get("code") for rule in self._workflow.rules}

    @property
    @otherwise(set, "wrong names of rules in set-resources and set-threads are not found")
    def named_rules(self) -> set[str]:
        """Names of rules in ``set-resources`` and ``set-threads``, of which Snakemake ignores a wrong one."""
        settings = self._workflow.resource_settings
        return {*settings.overwrite_resources, *settings.overwrite_threads}

    @property
    @otherwise(list, "messages name no configuration files")
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
    @otherwise(dict, "messages lack values of --config")
    def _command_line(self) -> dict[str, Any]:
        """Return the configuration of the command line."""
        return dict(self._workflow.config_settings.config or {})

    @property
    def origin(self) -> dict[str, Any]:
        """Return the origin of the configuration, for ``load_experiment``: files, words of the command, keys in ``--config``."""
        return {"config_files": self.configfiles, "command": self.command, "own_keys": list(self._command_line)}

    @property
    def call(self) -> dict[str, Any]:
        """Snakefile, working directory, configuration files, and configuration of the command line."""
        return {
            "snakefile": str(self._workflow.main_snakefile),
            "directory": str(Path.cwd()),
            "configfiles": self.configfiles,
            # Snakemake writes this into files, which stay if it is killed.
            "config": {key: value for key, value in self._command_line.items() if shown(value) == value},
        }

    @property
    def options(self) -> str:
        """Return the options of another command with the same Snakefile, folder and configuration, a space before each."""
        here, words, moved = Path.cwd(), list[str](), self.is_moved
        if moved or Path(self._workflow.main_snakefile).parent not in (here, here / "workflow"):
            words += ["--snakefile", str(self._workflow.main_snakefile)]
        words += ["--directory", str(here)] if moved else []
        shorter = [path if moved else path.removeprefix(f"{here}/") for path in self.configfiles]
        open_config = shown(self._command_line)  # jobs and messages have these options
        settings = {
            key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in open_config.items()
        }
        for option, values in (("--configfile", shorter), ("--config", [f"{key}={value}" for key, value in settings.items()])):
            words += [option, *values] if values else []
        return "".join(f" {shlex.quote(word)}" for word in words)

    @property
    def bucket(self) -> str | None:
        """Return the place of all results, if it is not this machine."""
        settings = self._workflow.storage_settings
        return None if settings.default_storage_provider is None else str(settings.default_storage_prefix)

    @property
    @otherwise(dict, "cores and GPUs are shared as on a cluster")
    def limits(self) -> dict[str, int]:
        """Cores and GPUs that all jobs share, ``_cores`` and ``gpu``; none where an executor of a cluster decides."""
        resources = self._workflow.global_resources
        values = {name: resources[name].value for name in ("_cores", "gpu") if name in resources}
        return {name: value for name, value in values.items() if value is not None}

    @property
    @otherwise(dict, "there are no progress and no checks of the plan")
    def planned_jobs(self) -> dict[int, PlannedJob]:
        """The jobs that will run, by number."""
        return {
            self._workflow.dag.jobid(job): PlannedJob(
                self._name(job.rule),
                dict(job.wildcards.items()),
                bool(job.output),
                tuple(value for value in job.rule.params if isinstance(value, str) and re.match(FUNCTION, value)),
                "gpu" in job.rule.resources,
            )
            for job in self._workflow.dag.needrun_jobs()
        }

    @property
    @otherwise(set, "files dated in the future are not looked for")
    def read_files(self) -> set[str]:
        """Return the files that the planned jobs read and none of them makes."""
        jobs = list(self._workflow.dag.needrun_jobs())
        return {str(path) for job in jobs for path in job.input} - {str(path) for job in jobs for path in job.output}

    @property
    @otherwise(set, "settings of finished runs are not compared before their scores are read")
    def kept_files(self) -> set[str]:
        """Return the outputs of the planned files' jobs that do not run, because all that they make is there."""
        dag = self._workflow.dag
        return {str(path) for job in dag.jobs if not dag.needrun(job) for path in job.output}

    def path(self, pattern: str) -> str:
        """Return a path with its variables, such as ``<results>``, filled in."""
        return str(self._workflow.pathvars.apply(pattern))

    @otherwise(lambda: None, "at most 100 jobs start a second")
    def start_jobs_at_any_rate(self) -> None:
        """Lift Snakemake's limit of started jobs in a second, unless the command line has another.

        With a limit every look for jobs that can start, one whenever a job ends, repeats itself in each second that others wait:
        after a thousand jobs Snakemake looks a thousand times a second. Upstream would have to keep one timer.
        """
        scheduler = self._workflow.scheduler
        limit = scheduler.job_rate_limiter
        if limit is not None and (limit.max_jobs, limit.timespan) == DEFAULT_RATE:
            scheduler.job_rate_limiter = None

    @otherwise(lambda: None, "candidates that a killed run left stay")
    def remove_temporary_inputs(self, rule: str, name: str) -> None:
        """Remove the temporary inputs, of a name, of finished jobs of a rule, which a killed run left behind."""
        for job in self._workflow.dag.jobs:
            if self._name(job.rule) == rule and not self._workflow.dag.needrun(job) and any(map(os.path.exists, job.input[name])):
                self._workflow.async_run(self._workflow.dag.handle_temp(job))


@otherwise(lambda: None, "failed jobs run again only if a requested file is missing")
def rerun_failed_jobs() -> None:
    """Let the next run start with the jobs that failed, even if all files that it is asked for are there.

    Snakemake deletes the outputs of a failed job and records its parameters like those of a job that ended well. If results of an
    earlier run were made from such outputs, the next run sees no change and makes nothing, although they are out of date.

    Snakemake marks the outputs of a running job, and makes marked ones again if they are there (``--rerun-incomplete``). Here a
    failed job keeps its marks, and marks of missing files count too.
    """
    from snakemake.jobs import Job
    from snakemake.persistence import PersistenceBase

    if list(inspect.signature(PersistenceBase.incomplete).parameters) != ["self", "job"]:
        raise TypeError("PersistenceBase.incomplete takes other arguments")
    postprocess, _ = Job.postprocess, (PersistenceBase._get_key, PersistenceBase._filter_incomplete_keys, PersistenceBase.started)
    if "error" not in inspect.signature(postprocess).parameters:
        raise TypeError("Job.postprocess has no argument error")

    async def postprocess_and_mark(job: Any, *arguments: Any, error: bool = False, **options: Any) -> None:
        """Mark the outputs of a failed job as unfinished again."""
        await postprocess(job, *arguments, error=error, **options)  # removes the marks of every job that has ended
        if error:
            job.dag.workflow.persistence.started(job)

    async def marked_outputs(persistence: Any, job: Any) -> list[Any]:
        """Return the marked outputs of a job, missing ones included."""
        keys = {persistence._get_key(path): path for path in job.output}
        return [keys[key] for key in persistence._filter_incomplete_keys(keys)]

    Job.postprocess = postprocess_and_mark
    PersistenceBase.incomplete = marked_outputs


def parse_options(words: Sequence[str]) -> tuple[Namespace, list[str]]:
    """Return the options of a command line by Snakemake's names, with ``targets``, and the words that it does not know.

    Raises SystemExit for a value that it does not allow, whose name it has printed.
    """
    from snakemake.cli import get_argument_parser

    parser = get_argument_parser()
    parser.print_usage = lambda *_: None  # a hundred lines
    return parser.parse_known_args(list(words))


def option_names() -> list[str]:
    """Return the names of Snakemake's options."""
    from snakemake.cli import get_argument_parser

    return [name for action in get_argument_parser()._actions for name in action.option_strings]


def configuration_of(files: Iterable[str], given: dict[str, Any], config: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the configuration of files, then of ``given``, then of ``--config``, and the keys of the last."""
    from snakemake.cli import parse_config
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config  # documented

    merged: dict[str, Any] = {}
    own = parse_config(config)
    for part in (*map(load_configfile, files), given, own):
        update_config(merged, part)
    return merged, list(own)
