"""Results made rightly, and changes to them, for the tests of the spot checks of families with a model."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.layout import RUN
from beirflow.families.spot_checks.spot_check import Finding, SpotCheck, Subject
from beirflow.families.system import System
from model_results import ModelResults

DOCUMENTS, SAMPLE = 30, 12
TOP_K = 9

SpotChecks = Callable[[Subject, int, np.random.Generator], list[SpotCheck]]


def planned(*planners: SpotChecks) -> SpotChecks:
    """The checks of several kinds, one kind after the other."""
    return lambda *what: [check for planner in planners for check in planner(*what)]


def made_rightly(results: ModelResults[Any], settings: Any, family: str) -> Subject:
    """Results with a run of a system, as a spot check is given them."""
    results.make_all(settings).find_all(settings)
    system = System(settings.name, family, settings)
    return Subject(
        results=results.results,
        system=system,
        here=system,
        dataset="small",
        made={"precision": "float32"},
        top_k=TOP_K,
        drop_self_matches=True,
        chunks=results.chunks,
        config={"device": "cpu", "token_budget": "auto", "jobs_per_gpu": 1},
    )


def copied(subject: Subject, folder: Path) -> Subject:
    """A copy that a test may change."""
    shutil.copytree(subject.results, folder / "results")
    return replace(subject, results=folder / "results")


def found(checks: SpotChecks, subject: Subject, sample: int = SAMPLE * 9, seed: int = 0) -> list[Finding]:
    """Run the spot checks and give their findings."""
    return [check.run() for check in checks(subject, sample, np.random.default_rng(seed))]


def passed(checks: SpotChecks, subject: Subject) -> bool:
    """Tell if the results pass, whole and in a small sample."""
    whole, few = found(checks, subject), found(checks, subject, 4, 1)
    assert f"{DOCUMENTS} documents" in whole[0].found
    return len(whole) == len(few) >= 5 and all(finding.passed for finding in [*whole, *few])


def change_a_score(subject: Subject, change: Callable[[np.float32], Any]) -> None:
    """Write the run again with another score of one document."""
    path = subject.results / RUN(system=subject.system.name, dataset=subject.dataset)
    table = pq.read_table(path)
    scores = table["score"].to_numpy().copy()
    scores[4] = change(scores[4])
    pq.write_table(table.set_column(2, "score", pa.array(scores)), path)
