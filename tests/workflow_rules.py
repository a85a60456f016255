"""The rules of the workflow and of extensions, as Snakemake reads them."""

import re
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from beirflow import SNAKEFILE
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.core.extensions import extensions
from beirflow.families.stage import Task
from beirflow.report import registry
from beirflow.run import code_version
from beirflow.run.by_name import FUNCTION
from beirflow.run.rules_of_snakefile import rule_jobs
from warm_snakemake import parse_each_rule_file_once

SHOWN = {
    "tabulate_figures": ["frame"],
    "draw_figures": ["figure"],
    "export_tables": ["table"],
    "write_report": ["table"],
}
"""Decorators by the rule whose job calls their functions."""


@cache
def workflow_rules() -> dict[str, Any]:
    """Return all rules by name, each as Snakemake's object."""
    all_of_them = patch("beirflow.run.rules_of_snakefile.RuleJobs", lambda workflow, _: list(workflow.rules))
    parse_each_rule_file_once()
    with all_of_them, rule_jobs(SNAKEFILE, load_experiment({}), Path("/results")) as rules:
        return {rule.name: rule for rule in rules}


def rule_codes() -> dict[str, str]:
    """Return the digests of code by rule, of those that have one."""
    codes = {name: rule.params.get("code") for name, rule in workflow_rules().items()}
    return {name: code for name, code in codes.items() if code}


@cache
def functions_of(rule: str) -> tuple[str, ...]:
    """Return the functions that a job of a rule calls: those in its params, its own first, and those of extensions."""
    values = [value for value in workflow_rules()[rule].params if isinstance(value, str)]
    named = [value.removesuffix("()") for value in values if re.match(FUNCTION, value)]
    added = (extension.additions[rule].function for extension in extensions() if rule in extension.additions)
    return (*named, *added, *(function for kind in SHOWN.get(rule, ()) for function in registry.functions(kind).values()))


def rule_modules(rule: str) -> set[str]:
    """Return the modules whose code a job of a rule may run."""
    return code_version.modules_of(*functions_of(rule))


def params_of(experiment: Experiment, rule: str, **wildcards: str) -> dict[str, Any]:
    """Return what a job of a rule of a family gets from an experiment."""
    (stage,) = (stage for family in FAMILIES.values() for stage in family.stages if stage.rule == rule)
    return {name: question(Task(experiment, wildcards)) for name, question in stage.params.items()}


def encoding_of(experiment: Experiment, system: str, dataset: str) -> dict[str, Any]:
    """Return all settings that determine the vectors of a system on a corpus."""
    return asdict(experiment.settings_for(system, dataset).used_encoding)
