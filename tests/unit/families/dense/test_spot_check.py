"""The sample of a dense system: the audit computes as a job does, on a GPU of its own and in bounded memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.layout import CORPUS, RUN_RECORD
from beirflow.core.records import read_json
from beirflow.families.dense import run_check
from beirflow.families.dense import spot_check as module
from beirflow.families.spot_checks import representation_check
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, Subject
from beirflow.models.encoders.load import load_encoder
from results_maker import Made
from spot_checked import found, planned

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def subject(results_once: Made) -> Subject:
    experiment = load_experiment(results_once.config)
    system = experiment.systems["tiny"]
    run = read_json(results_once.results / RUN_RECORD(system="tiny", dataset="small"))
    return Subject(
        results=results_once.results,
        system=system,
        here=system,
        dataset="small",
        drop_self_matches=True,
        **{key: run[key] for key in ("made", "top_k")},
        chunks=read_json(results_once.results / CORPUS(dataset="small"))["chunks"],
        config={key: experiment.config[key] for key in ("device", "token_budget", "jobs_per_gpu")},
    )


ALL = planned(module.spot_checks, run_check.follows)


def findings(subject: Subject) -> list[Finding]:
    return found(ALL, subject, 5, 3)


def test_texts_are_encoded_inside_a_gpu_job_with_the_settings_of_the_person_who_audits(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[object] = []

    @contextmanager
    def gpu_job(device: str, jobs_per_gpu: int) -> Iterator[None]:
        events.append((device, jobs_per_gpu))
        yield
        events.append("done")

    monkeypatch.setattr(representation_check, "gpu_job", gpu_job)
    load = staticmethod(lambda *what, **on: events.append("load") or load_encoder(*what, **on))
    monkeypatch.setattr(module.VectorCheck, "load", load)
    subject = replace(subject, config=subject.config | {"jobs_per_gpu": 3})
    assert all(finding.passed for finding in findings(subject))
    assert all(finding.passed for finding in findings(subject))
    assert events == [("cpu", 3), "load", "done"] * 2 + [("cpu", 3), "done"] * 8  # kept for the same bits, and another corpus


def test_blocks_of_any_size_find_the_same(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_check, "BLOCK_ROWS", 4)
    assert all(finding.passed for finding in findings(subject))


def test_a_model_that_is_not_configured_here_is_not_looked_for(subject: Subject) -> None:
    documents, queries, *bits, ranks = ALL(replace(subject, here=None), 5, np.random.default_rng(3))
    for check in (documents, queries, *bits):
        with pytest.raises(NotHereError, match="it is not known here where the model of tiny is"):
            check.run()
    assert ranks.run().passed
