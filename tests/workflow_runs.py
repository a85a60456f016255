"""Run Snakemake for real, in temporary folders, with a tiny encoder whose weights are random."""

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from beir_writer import write_beir
from beirflow.core.records import read_json
from vocabulary import WORDS
from warm_snakemake import REPOSITORY, run_warm

SNAKEMAKE = (sys.executable, "-m", "snakemake")
EXECUTOR = REPOSITORY / "plugins/slurm/src"  # where Snakemake finds the executor for SLURM, also if it is not installed

SUMS = ("total", "summary", "report", "beir_paper")
"""Lines of Snakemake's plan that are no jobs: the total, and targets that only name files."""

REPORTED = ("results/report.html", "results/scores.parquet", "results/inspection/small.json", "results/figures/cost.svg")
"""Derived files of one dataset; all others of the report are made with them."""


@dataclass
class Workflow:
    """A working folder, the configuration of its runs, the copy of the workflow that they use, and what starts them.

    Runs are forked from a Snakemake that was imported before. So are the workers of their jobs, unless the runs have an
    ``environment`` of their own, which libraries read when they are imported.
    """

    folder: Path
    config: dict[str, Any]
    repository: Path = REPOSITORY
    environment: dict[str, str] = field(default_factory=dict)
    program: Sequence[str] = SNAKEMAKE

    def command(self, *arguments: str, cores: int | None = 2) -> list[str]:
        """The command line of a run; without `cores` where a profile says what runs at a time."""
        configfile = self.folder / "config-of-test.yaml"
        configfile.write_text(yaml.safe_dump(self.config))
        where = ["--snakefile", str(self.repository / "Snakefile"), "--directory", str(self.folder)]
        # The configuration file stands before another option, because it takes any number of values.
        limit = [] if cores is None else ["--cores", str(cores)]
        return [*self.program, "--configfile", str(configfile), *where, *limit, *arguments]

    def run(self, *arguments: str, cores: int | None = 2, ok: bool = True) -> str:
        """Run Snakemake to its end, which must be that, and give back what it printed."""
        status, output = self.ended(*arguments, cores=cores)
        assert (status == 0) == ok, output
        return output

    def ended(self, *arguments: str, cores: int | None = 2) -> tuple[int, str]:
        """Run Snakemake to its end, and give back its exit status and what it printed."""
        command, environment = self.command(*arguments, cores=cores), {**os.environ, **self.environment}
        if self.program == SNAKEMAKE and sys.platform == "linux":
            return run_warm(command[len(SNAKEMAKE) :], self.repository, environment, warm_jobs=not self.environment)
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, cwd=self.repository, env=environment, **streams, check=False)
        return done.returncode, done.stdout

    def submit_to(self, cluster: Mapping[str, str]) -> None:
        """Run on SLURM from now on: its environment, our executor, and a Snakemake that asks often for the state of jobs."""
        self.environment = {**cluster, "PYTHONPATH": str(EXECUTOR)}
        self.program = (sys.executable, str(REPOSITORY / "tests/fast_polling.py"))

    def planned(self, *arguments: str) -> dict[str, int]:
        """The jobs that a dry run announces, by rule."""
        output = self.run("--dry-run", *arguments)
        if "Job stats:" not in output:
            assert "Nothing to be done" in output
            return {}
        rows = output.split("Job stats:")[1].split("\n\n")[0].splitlines()[3:]
        return {name: int(count) for name, count in (row.split() for row in rows) if name not in SUMS}

    def ran(self) -> dict[str, int]:
        """The jobs that have run, by rule, as their logs say."""
        logs = [path.relative_to(self.result("logs")) for path in self.result("logs").rglob("*.log")]
        return dict(Counter(path.parts[0].removesuffix(".log") for path in logs))

    def result(self, path: str) -> Path:
        """A file under results/."""
        return self.folder / "results" / path

    def read(self, path: str) -> Any:
        """The content of a JSON file under results/."""
        return read_json(self.result(path))

    def copied(self, folder: Path) -> "Workflow":
        """A copy of the folder and its configuration, which a test may change."""
        shutil.copytree(self.folder, folder)
        return Workflow(folder, deepcopy(self.config))


def config_of(own: Mapping[str, Mapping[str, Any]], dataset: Path, **changes: Any) -> dict[str, Any]:
    """Configuration of systems of the user's own on one small dataset, in chunks of ten documents."""
    config = {
        "systems": list(own),
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 10,
        "top_k": 20,
        "cutoffs": [1, 10, 20],
        "custom": {"systems": dict(own), "datasets": {"small": {"path": str(dataset)}}},
    }
    return config | changes


def tiny_system(model: Path, **changes: Any) -> dict[str, Any]:
    """Configuration of the tiny encoder as a system of the user's own."""
    return {"model": str(model), "pooling": "mean", "similarity": "dot", "max_length": 64, **changes}


def dataset_config(workflow: Workflow, **datasets: dict[str, Any]) -> dict[str, Any]:
    """The keys that replace the datasets of a configuration."""
    return {"datasets": list(datasets), "custom": {**workflow.config["custom"], "datasets": datasets}}


def words(seed: int, count: int) -> str:
    """A text of random words that the tiny tokenizer knows."""
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def small_dataset(
    folder: Path,
    documents: int = 30,
    queries: int = 4,
    *,
    shuffled: bool = False,
    stated: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Documents of mixed length, every third text twice, and queries with two graded judgements each, and what some state."""
    texts: dict[str, str | Mapping[str, Any]] = {}
    for i in range(documents):
        texts[f"d{i:03}"] = words(i - 1 if i % 3 == 1 else i, 3 + (i - (i % 3 == 1)) % 17)
    order = list(texts)
    if shuffled:
        random.Random(5).shuffle(order)
    judgements = {f"q{i}": {f"d{3 * i:03}": 2, f"d{3 * i + 2:03}": 1} for i in range(queries)}
    asked = {f"q{i}": {"text": words(900 + i, 5), **(stated or {}).get(f"q{i}", {})} for i in range(queries)}
    return write_beir(folder, {key: texts[key] for key in order}, asked, judgements)
