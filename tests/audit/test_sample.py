"""A sample made again finds what was lifted, pushed or left out, and passes what nobody touched."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.configured import stated_experiment
from beirflow.audit.sample import check_samples
from beirflow.core.records import read_json
from forger import Forger
from forgeries import in_order, relevant, relevant_first, rivals_of_zeros, towards_relevant, with_words_of_queries
from results_maker import Made
from results_of_everything import make_everything

pytest.importorskip("faiss")

SEARCHED = ("words", "written", "given", "deepct", "dense", "int8", "genq", "sparse", "late", "crossed", "graph")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_everything(tmp_path_factory.mktemp("everything"))


def sampled(forger: Forger, sample: int, only: str = "") -> list[Check]:
    """The checks of a sample, of one system if it is named."""
    chain = Chain(forger.results, read_json(forger.path("manifest.json")))
    with chain.limits:
        chain.follow()
        if only:
            chain.claims = {path: by for path, by in chain.claims.items() if not path.startswith("runs/") or f"/{only}/" in path}
        return list(check_samples(chain, stated_experiment(chain, forger.experiment), sample, 1))


def systems_of(checks: list[Check]) -> set[str]:
    return {check.found.partition(" on ")[0] for check in checks}


@pytest.mark.parametrize("sample", [5, 1000])
def test_what_nobody_touched_passes_for_every_family(everything: Made, tmp_path: Path, sample: int) -> None:
    checks = sampled(Forger.of(everything, tmp_path), sample)
    assert [check for check in checks if check.status != PASSED] == []
    assert systems_of(checks) == {*SEARCHED}


def test_without_a_sample_nothing_is_made_again(everything: Made, tmp_path: Path) -> None:
    (check,) = sampled(Forger.of(everything, tmp_path), 0)
    assert check.status == NOT_CHECKED
    assert "audit: {sample: 100}" in check.repair


def test_relevant_documents_that_were_put_first_are_found(everything: Made, tmp_path: Path) -> None:
    forger = Forger.of(everything, tmp_path)
    best = relevant(forger)

    def change(run: pd.DataFrame) -> pd.DataFrame:
        of_query = run["query_id"].map(best)
        lifted = [doc in docs for doc, docs in zip(run["doc_id"], of_query, strict=True)]
        return in_order(run.assign(score=(run["score"] * np.where(lifted, 1.5, 1)).astype(np.float32)))

    for system in SEARCHED:
        forger.edit_table(f"runs/{system}/small.parquet", change)
    forger.digest_again()
    failed = [check for check in sampled(forger, 1000) if check.status == FAILED]
    assert systems_of(failed) >= {*SEARCHED} - {"deepct", "crossed", "graph"}


FORGED: list[tuple[str, Callable[[Forger], object]]] = [
    ("dense", rivals_of_zeros),
    ("dense", towards_relevant),
    ("words", lambda forger: with_words_of_queries(forger, "words", "postings/lucene-english/small/*")),
    ("int8", lambda forger: relevant_first(forger, "int8")),
    ("graph", lambda forger: relevant_first(forger, "graph")),
]


@pytest.mark.parametrize(("system", "forge"), FORGED)
def test_forged_representations_and_runs_are_found(
    everything: Made, tmp_path: Path, system: str, forge: Callable[[Forger], object]
) -> None:
    forger = Forger.of(everything, tmp_path)
    forge(forger)
    assert system in systems_of([check for check in sampled(forger, 1000, system) if check.status == FAILED])
