"""The rules of the workflow and of extensions, as Snakemake reads them."""

import re
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from beirflow import SNAKEFILE
from beirflow.config.load import load_experiment
from beirflow.core.extensions import extensions
from beirflow.run import code_version
from beirflow.run.by_name import FUNCTION
from beirflow.run.undocumented import rule_jobs
from warm_snakemake import parse_each_rule_file_once


@cache
def workflow_rules() -> dict[str, Any]:
    """Return all rules by name, each as Snakemake's object."""
    all_of_them = patch("beirflow.run.undocumented.RuleJobs", lambda workflow, _: list(workflow.rules))
    parse_each_rule_file_once()
    with all_of_them, rule_jobs(SNAKEFILE, load_experiment({}), Path("/results")) as rules:
        return {rule.name: rule for rule in rules}


def rule_codes() -> dict[str, str]:
    """Return the digests of code by rule, of those that have one."""
    codes = {name: rule.params.get("code") for name, rule in workflow_rules().items()}
    return {name: code for name, code in codes.items() if code}


@cache
def functions_of(rule: str) -> tuple[str, ...]:
    """Return the functions that a job of a rule calls: those in its params, its entrance first, and those of extensions."""
    values = [value for value in workflow_rules()[rule].params if isinstance(value, str)]
    named = [value.removesuffix("()") for value in values if re.match(FUNCTION, value)]
    return (*named, *(extension.additions[rule].function for extension in extensions() if rule in extension.additions))


def rule_modules(rule: str) -> set[str]:
    """Return the modules whose code a job of a rule may run."""
    return code_version.modules_of(*functions_of(rule))
