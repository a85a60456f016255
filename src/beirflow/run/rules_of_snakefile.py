"""Rules of a Snakefile for an audit, read without a run: uses of Snakemake beyond its documentation, as in undocumented.py."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

EXPERIMENT = "preset_experiment"  # name under which ``common.smk`` takes an experiment that is not made from the configuration


class RuleJobs:
    """The rules of a Snakefile that Snakemake's ``workflow`` has read for an experiment, whose results go to ``results``."""

    def __init__(self, workflow: Any, results: Path) -> None:
        from snakemake.output_index import OutputIndex

        self._results, self._config = results, workflow.config
        # Which a plan asks too: to compile the patterns of all rules takes longer than most of their jobs.
        self._index = OutputIndex(workflow.rules)

    def job(self, path: str) -> SimpleNamespace | None:
        """Return the job that makes a file below the results, with what :class:`~beirflow.run.rule_call.Sources` asks of it.

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
            computes="gpu" in rule.resources,  # with a model
        )


def params_without(params: Any, name: str) -> Any:
    """Return the parameters of a job but for one, as a command hands them over: values of JSON."""
    from snakemake.iocontainers import Params

    return Params(fromdict=json.loads(json.dumps({key: value for key, value in params.items() if key != name})))


@contextmanager
def rule_jobs(snakefile: Path, experiment: Any, results: Path) -> Iterator[RuleJobs]:
    """Read a Snakefile for an experiment, whatever the configuration says.

    The rules place all results in ``results``, a path without braces. Raises ValueError if they do not fit the experiment.
    """
    from snakemake.api import Workflow  # before snakemake.workflow, which imports it in a circle
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import LoggerManager, logger
    from snakemake.settings import types

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
        workflow.include(snakefile, overwrite_default_target=True)
        yield RuleJobs(workflow, results)
    except WorkflowError as error:
        raise ValueError(f"the rules do not fit these results: {error}") from error
    finally:
        logger.disabled = False
        workflow.tear_down()
