"""Each result beside what was published, with a tolerance for each source and the reason where the two must not be compared."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check
from beirflow.audit.facts.published import check_published
from beirflow.config.load import load_experiment
from beirflow.data.catalogue.catalogue import MACHINES, load_catalogue, tolerance


def checks(
    system: str, dataset: str, precision: str = "float32", changed: dict[str, Any] | None = None, **record: Any
) -> list[Check]:
    """Checks of one result; ``changed`` replaces settings of the system as it was configured."""
    experiment = load_experiment({})
    known = experiment.systems.get(system)
    corpora = [asdict(corpus) for corpus in experiment.rows.get(dataset, ())]
    path = f"metrics/{system}/{dataset}.json"
    recorded = asdict(known) if known else {}
    recorded |= {"settings": recorded.get("settings", {}) | (changed or {})}
    manifest = {
        "inputs": {path: ""},
        "systems": {system: recorded},
        "datasets": {dataset: corpora},
    }
    chain = Chain(Path("results"), manifest, audited_with=experiment)
    split = corpora[0]["split"] if corpora else "test"
    chain.records[path] = {"official_data": True, "split": split, "measures": {}, "precisions": [precision]} | record
    chain.evaluated[system, dataset] = dataset
    return check_published(chain)


def of(found: list[Check], measure: str, source: str) -> Check:
    (check,) = [check for check in found if measure in check.found and source in f"{check.found} {check.expected}"]
    return check


@pytest.mark.parametrize(
    ("decimals", "precision", "expected"),
    [
        (5, {"float32"}, 0.000305),
        (4, {"float32"}, 0.00035),
        (4, (), 0.00035),
        (3, {"float32"}, 0.0008),
        (2, {"float32"}, 0.0053),
        (4, {"bfloat16", "float32"}, 0.00385),
    ],
)
def test_the_tolerance_is_half_a_unit_of_the_last_decimal_with_a_stated_allowance_for_machines_and_half_precision(
    decimals: int, precision: set[str], expected: float
) -> None:
    assert tolerance(decimals, precision) == pytest.approx(expected, abs=1e-12)


def test_the_allowance_for_machines_is_the_difference_of_the_two_published_runs_of_one_system() -> None:
    sources = {source["source"]: source for source in load_catalogue().published["contriever"]}
    theirs, differences = sources["pyserini"], {}
    for name in ("rtx3090", "rtx3090, rounded"):
        for dataset, scores in sources[name]["scores"].items():
            for measure, one, other in zip(("NDCG@10", "Recall@100"), scores, theirs["scores"][dataset], strict=True):
                differences[name, dataset, measure] = one - other
    rounding = {name: 0.5 * 10.0 ** -sources[name]["decimals"] + 0.5 * 10.0 ** -theirs["decimals"] for name, *_ in differences}
    beyond = max(abs(apart) - rounding[name] for (name, *_), apart in differences.items())
    assert beyond <= MACHINES < beyond + 0.0001
    named = [
        f"{dataset} {measure} {apart:+.4f}"
        for (name, dataset, measure), apart in differences.items()
        if name == "rtx3090" and round(apart, 4)
    ]
    assert len({*differences}) == 16
    assert sorted(sources["rtx3090"]["note"].partition(": ")[2].split(", ")) == sorted(named)


# Published of contriever on scifact: 0.6493 by pyserini, 0.649 by the paper.
@pytest.mark.parametrize(
    ("ours", "verdict", "status"),
    [
        (0.6493, "match", PASSED),
        (0.6496, "match", PASSED),
        (0.6498, "near", WARNING),
        (0.6453, "near", WARNING),
        (0.61, "differs", FAILED),
    ],
)
def test_a_result_matches_is_near_or_differs(ours: float, verdict: str, status: str) -> None:
    found = of(checks("contriever", "scifact", measures={"NDCG@10": ours}), "NDCG@10", "pyserini")
    assert (found.status, f": {verdict}," in found.found) == (status, True)
    assert "within 0.00035" in found.expected
    assert found.results == ((("contriever", "scifact"),) if verdict == "differs" else ())


def test_a_paper_and_a_lower_precision_have_wider_tolerances() -> None:
    measures = {"NDCG@10": 0.6493 + 0.0017}
    assert of(checks("contriever", "scifact", measures=measures), "NDCG@10", "pyserini").status == WARNING
    wide = of(checks("contriever", "scifact", "bfloat16", measures=measures), "NDCG@10", "pyserini")
    assert (wide.status, "within 0.00385" in wide.expected) == (PASSED, True)
    paper = of(checks("contriever", "scifact", measures=measures), "NDCG@10", "0.649 by paper")
    assert "within 0.00080 (it does not state its precision)" in paper.expected


@pytest.mark.parametrize(
    ("system", "dataset", "measure", "source", "record", "reason"),
    [
        ("contriever", "webis-touche2020", "NDCG@10", "paper", {}, "version 1 of the judgements"),
        ("contriever", "trec-covid", "Recall@100", "paper", {}, "the capped R_cap@100"),
        ("tas-b", "scifact", "Recall@100", "paper", {}, "no such score"),
        ("contriever", "scifact", "NDCG@10", "paper", {"official_data": False}, "not the official ones"),
        ("contriever", "msmarco", "NDCG@10", "paper", {"split": "test"}, "published on dev"),
        ("contriever", "scifact", "Recall@100", "paper", {"measures": {"NDCG@10": 0.6}}, "was not computed"),
    ],
)
def test_what_must_not_be_compared_says_why(
    system: str, dataset: str, measure: str, source: str, record: dict[str, Any], reason: str
) -> None:
    measures = {"measures": {"NDCG@10": 0.1, "Recall@100": 0.1}}
    found = of(checks(system, dataset, **measures | record), measure, source)
    assert (found.status, found.results) == (NOT_CHECKED, ())
    assert f"not comparable, {reason}" in found.found or reason in found.found


@pytest.mark.parametrize(
    ("system", "dataset"), [("mine", "scifact"), ("deepct", "scifact"), ("colbert", "scifact"), ("bm25", "my-corpus")]
)
def test_what_nobody_published_or_has_a_name_in_the_paper_is_not_comparable(system: str, dataset: str) -> None:
    (found,) = checks(system, dataset, measures={"NDCG@10": 0.1, "Recall@100": 0.1})
    assert (found.status, f"nothing is published of {system} on {dataset}" in found.found) == (NOT_CHECKED, True)


@pytest.mark.parametrize(("changed", "official"), [({"pooling": "cls"}, True), ({}, None)])
def test_a_difference_only_warns_where_system_or_data_may_be_others(changed: dict[str, Any], official: bool | None) -> None:
    found = checks("contriever", "scifact", changed=changed, official_data=official, measures={"NDCG@10": 0.1})
    assert of(found, "NDCG@10", "pyserini").status == WARNING
