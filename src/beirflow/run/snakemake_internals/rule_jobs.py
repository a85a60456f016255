"""Jobs of the rules for chosen files, without running Snakemake: rule files are read, nothing is planned or started."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from beirflow.core import layout
from beirflow.core.extensions import extensions
from beirflow.core.patterns import ForReading
from beirflow.run.snakemake_internals.workflow_run import check_version

EXPERIMENT = "stated_experiment"  # name under which ``common.smk`` takes an experiment that is not made from the configuration


class RuleJobs:
    """The rules of a Snakefile that Snakemake's ``workflow`` has read for an experiment, whose results go to ``results``."""

    def __init__(self, workflow: Any, results: Path) -> None:
        from snakemake.output_index import OutputIndex

        self._results, self._config = results, workflow.config
        # Which a plan asks too: to compile the patterns of all rules takes longer than most of their jobs.
        self._index = OutputIndex(workflow.rules)

    def job(self, path: str) -> SimpleNamespace | None:
        """Return the job that makes a file below the results, with what :class:`~beirflow.run.entrance.Sources` asks of it.

        None if no rule makes the file. Raises ValueError if the rule has no job for this file.
        """
        from snakemake.exceptions import WorkflowError
        from snakemake.iocontainers import Wildcards

        target = str(self._results / path)
        rule = next(iter(self._index.match_producers(target)), None)
        if rule is None:
            return None
        try:
            wildcards = Wildcards(fromdict=rule.get_wildcards(target))
            inputs, output = rule.expand_input(wildcards)[0], rule.expand_output(wildcards)[0]
            params = rule.expand_params(wildcards, inputs, output, None)[0]
        except WorkflowError as error:
            raise ValueError(f"the rule {rule.name} has no job that makes {path}: {error}") from error

        return SimpleNamespace(
            rule=rule.name,
            input=inputs._plainstrings(),
            output=output._plainstrings(),
            params=params,
            wildcards=wildcards,
            threads=1,
            config=self._config,
        )


def _makes_for_reading(rules: Path) -> bool:
    """Test whether a rule file, if it has rules, or its extension, names a file for reading; other results are not made here."""
    text = rules.read_text(encoding="utf-8")
    of_extension = (pattern for each in extensions() if rules.is_relative_to(each.folder) for pattern in each.patterns)
    named = [*of_extension, *(vars(layout).get(name) for name in re.findall(r"layout\.(\w+)", text))]
    return not re.search(r"^rule ", text, re.MULTILINE) or any(isinstance(pattern, ForReading) for pattern in named)


@contextmanager
def rule_jobs(snakefile: Path, experiment: Any, results: Path) -> Iterator[RuleJobs]:
    """Read a Snakefile, and its rule files that make files for reading, for an experiment, whatever the configuration says.

    The rules place all results in ``results``, a path without braces. Raises ValueError if they do not fit the experiment.
    """
    from snakemake.api import Workflow  # before snakemake.workflow, which imports it in a circle
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import LoggerManager, logger
    from snakemake.settings import types

    check_version("snakemake")
    workflow = Workflow(
        config_settings=types.ConfigSettings(config={**experiment.config, "pathvars": {"results": str(results)}}),
        resource_settings=types.ResourceSettings(cores=1),
        # As one of the jobs of a run: rule files take over neither terminal nor lock.
        workflow_settings=types.WorkflowSettings(exec_mode=types.ExecMode.SUBPROCESS),
        logger_manager=LoggerManager(logger, types.OutputSettings()),
        storage_settings=types.StorageSettings(),
        deployment_settings=types.DeploymentSettings(),
        output_settings=types.OutputSettings(),
        group_settings=types.GroupSettings(),
        check_envvars=False,
    )
    workflow.globals[EXPERIMENT] = experiment
    logger.disabled = True  # it would say that the configuration file is extended
    try:
        include = workflow.include
        # Half of the rules, and of the time to read them, are not needed.
        workflow.include = lambda path, **options: _makes_for_reading(snakefile.parent / path) and include(path, **options)
        include(snakefile, overwrite_default_target=True)
        yield RuleJobs(workflow, results)
    except WorkflowError as error:
        raise ValueError(f"the rules do not fit these results: {error}") from error
    finally:
        logger.disabled = False
        workflow.tear_down()
