"""Scratch folder in which jobs of the workflow make results, in this process: for audits and samples.

Nothing in other results determines which code runs or where it writes: rules come from this installation, and paths of
outputs from the patterns of :mod:`beirflow.core.layout`.
"""

import logging
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import constants

from beirflow import EXTENSIONS, SNAKEFILE, WORKFLOW
from beirflow.core.progress import silence
from beirflow.core.records import Job
from beirflow.run.rule_call import call_rule
from beirflow.run.rule_job import COMMAND
from beirflow.run.rules_of_snakefile import RuleJobs, params_without, rule_jobs


class Scratch:
    """Folder of results in which jobs of the workflow run."""

    def __init__(self, rules: RuleJobs, folder: Path) -> None:
        self._rules, self.folder = rules, folder
        self._jobs: dict[str, Any] = {}

    def job(self, path: str) -> Any:
        """Return the job that makes a file below the results, one object for all its outputs; None if no rule makes the file.

        Raises ValueError if the rule has no job for this file.
        """
        if path not in self._jobs:
            self._jobs[path] = self._rules.job(path)
            if job := self._jobs[path]:
                self._jobs |= dict.fromkeys(self.outputs(job), job)
        return self._jobs[path]

    def inputs(self, job: Any) -> list[str]:
        """Return the inputs of a job among the results, as paths below them."""
        return [name for name in map(self._below, job.input) if name]

    def outputs(self, job: Any) -> list[str]:
        """Return the outputs of a job, as paths below the results."""
        return [self._below(path) for path in job.output]

    def opens_files(self, job: Any) -> bool:
        """Test whether a job reads files outside results and workflow, such as a dataset, a model or a run."""
        ours = tuple(f"{folder}/" for folder in (self.folder, WORKFLOW, EXTENSIONS))
        return not job.input or not all(str(path).startswith(ours) for path in job.input) or job.rule in ("prepare_corpus",)

    def run(self, job: Any) -> None:
        """Run a job, whose inputs are here, silently. Raises what its function raises."""
        for path in map(Path, job.output):
            path.parent.mkdir(parents=True, exist_ok=True)
        job.params = params_without(job.params, COMMAND)
        names = (f"{key}-{value}" if key in ("chunk", "block") else value for key, value in job.wildcards.items())
        with silence(), _quiet():
            call_rule(job, Job(self.folder, "/".join([job.rule, *names]), job.params.get("code", "")))

    def make(self, path: str) -> None:
        """Make a file, and what it is made from, where these are not here."""
        if (self.folder / path).exists():
            return
        if (job := self.job(path)) is None:
            raise FileNotFoundError(2, "no rule makes it", path)
        for name in self.inputs(job):
            self.make(name)
        self.run(job)

    def link(self, results: Path, paths: Iterable[str]) -> None:
        """Link to files of other results instead of making them."""
        for path in paths:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).symlink_to((results / path).absolute())

    def _below(self, path: str) -> str:
        start = f"{self.folder}/"
        return path.removeprefix(start) if path.startswith(start) else ""


@contextmanager
def _offline() -> Iterator[None]:
    """Keep the library of the hub offline in the block."""
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings of loggers in the block."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def scratch(experiment: Any) -> Iterator[Scratch]:
    """Open a temporary scratch folder for the results of an Experiment.

    Jobs in it download nothing. Raises ValueError if the rules do not fit the experiment.
    """
    with tempfile.TemporaryDirectory(prefix="beirflow-audit-") as folder:
        results = Path(folder, "results")
        results.mkdir()
        with rule_jobs(SNAKEFILE, experiment, results) as rules, _offline():
            yield Scratch(rules, results)
