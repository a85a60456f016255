"""Fused and reranked runs, and the runs that only these need: forged with every digest made again, and without any sample."""

import numpy as np
import pandas as pd

from beirflow.audit.audit import run_checks
from beirflow.audit.manifest import Published
from forger import FAILED, PASSED, WARNING, Forger, named, put
from forgeries import another_row
from results_maker import run_rules

FUSED, RERANKED, PAIRS = "runs/fused/small.json", "runs/reranked/small.json", "pairs/reranked/small/block-1.json"


FACTS = [
    (FUSED, ("parts", "second", "seconds", "index"), 0.0, f"{FUSED} says parts"),
    (FUSED, ("seconds", "index"), 7e6, '"index": 7000000.0'),
    (FUSED, ("bytes", "index"), 1, '"index": 1}'),
    (FUSED, ("first_stages",), ["tiny"], 'first_stages ["tiny"]'),
    (FUSED, ("made", "device"), "NVIDIA H100", 'what such runs have as made {"device"'),
    (RERANKED, ("parts", "reranked", "seconds", "rerank"), 6e6, '"rerank": 6000000.0}'),
    (RERANKED, ("counts", "pairs"), 1, '"pairs": 1}'),
    (RERANKED, ("made", "torch"), "9.9", '"torch": "9.9"'),
    (PAIRS, ("seconds", "rerank"), 5e6, '"rerank": 5000000.'),
    (PAIRS, ("block",), 0, "says block 0"),
    (PAIRS, ("blocks",), 1, "says blocks 1"),
    (PAIRS, ("depth",), 100, "says depth 100"),
    (PAIRS, ("precision",), "bfloat16", "says precision bfloat16"),
    (PAIRS, ("made", "assumed"), ["a sentence"], '"assumed": "a se'),
    ("metrics/reranked/small.json", ("assumed",), ["another sentence"], 'assumed ["another sentence"]'),
    (PAIRS, ("scoring", "pooling"), "cls", '{"pooling": "cls"'),
]
"""Files, keys and values of forged facts, and what the check of each says."""


def test_what_a_run_says_of_those_that_it_was_made_from_is_compared_with_them(made_of_runs: Forger) -> None:
    for name, keys, value, _ in FACTS:
        made_of_runs.edit(name, put(*keys, value=value))
    made_of_runs.digest_summary_again()
    texts = [f"{check.found}; {check.expected}" for check in made_of_runs.failed() if check.name == "records say the same"]
    assert [keys for _, keys, _, says in FACTS if not any(says in text for text in texts)] == []


def other_documents(run: pd.DataFrame) -> pd.DataFrame:
    """The order of documents turned round, with the scores of before: a run that follows the rule."""
    turned = run.assign(doc_id=run.groupby("query_id")["doc_id"].transform(lambda ids: ids[::-1].to_numpy()))
    scores = turned.groupby("query_id")["score"].transform(lambda scores: np.arange(len(scores), 0, -1, np.float32))
    return turned.assign(score=scores.astype(np.float32))


def test_runs_are_made_again_from_what_they_were_made_from_without_a_sample(made_of_runs: Forger) -> None:
    again = {"runs/fused/small.parquet": "queries fused again", "runs/reranked/small.parquet": "queries ranked again"}
    for run in again:
        made_of_runs.edit_table(run, other_documents)
        made_of_runs.evaluate_again(run.split("/")[1], "small")
    failed = {check.files: check.name for check in made_of_runs.failed()}
    assert failed.keys() == {(run,) for run in again}
    assert all(failed[(run,)].startswith(words) for run, words in again.items())


def test_versions_beside_those_of_the_runs_behind_are_compared_with_nothing(made_of_runs: Forger) -> None:
    def uncompared() -> set[str]:
        facts = run_checks(made_of_runs.results, made_of_runs.experiment, 0, 1, published=Published())[2]
        return {fact.key for fact in facts if fact.file.startswith("runs/") and fact.compared < fact.places}

    assert "made/python" not in uncompared()
    made_of_runs.edit(FUSED, lambda record: record.update(made={key: [one, "9.9"] for key, one in record["made"].items()}))
    made_of_runs.digest_summary_again()
    assert "made/python" in uncompared()


def test_a_run_in_trec_form_is_compared_where_only_other_systems_need_the_run(made_of_runs: Forger) -> None:
    name = "runs/second/small.trec.gz"
    run_rules(made_of_runs.results, made_of_runs.experiment, [name])
    assert named(made_of_runs.checks(), name)[0].status == PASSED
    made_of_runs.replace(name, another_row(made_of_runs.path(name).read_bytes()))
    assert [check.name for check in made_of_runs.failed()] == ["runs in TREC form say the same"]


def test_scores_of_pairs_that_are_not_those_of_the_model_are_found_by_a_sample(made_of_runs: Forger) -> None:
    made_of_runs.edit_table("pairs/reranked/small/block-0.parquet", lambda pairs: pairs.assign(score=-pairs["score"]))
    made_of_runs.digest_summary_again()
    assert "pairs scored again have the stored scores" in [check.name for check in made_of_runs.failed(sample=20)]


BITS = "batches of pairs scored again have the stored scores, bit for bit"


def test_a_score_of_a_pair_within_the_tolerance_has_other_bits(made_of_runs: Forger) -> None:
    made_of_runs.edit_table(
        "pairs/reranked/small/block-0.parquet", lambda pairs: pairs.assign(score=pairs["score"] + np.float32(1e-5))
    )
    made_of_runs.digest_summary_again()
    names = [check.name for check in made_of_runs.failed(sample=100)]
    assert BITS in names
    assert "pairs scored again have the stored scores" not in names


def test_the_run_of_a_system_that_only_others_need_follows_the_ranking_rule(made_of_runs: Forger) -> None:
    run = "runs/second/small.parquet"
    made_of_runs.edit_table(run, lambda rows: rows.assign(score=np.float32("nan")))
    made_of_runs.digest_summary_again()
    found = named(made_of_runs.failed(), run)
    assert any("no finite number" in check.found for check in found)
    assert {result for check in found for result in check.results} == {("fused", "small"), ("reranked", "small")}


def test_what_the_run_of_such_a_system_says_is_compared_too(made_of_runs: Forger) -> None:
    made_of_runs.edit("runs/second/small.json", put("top_k", value=3))
    made_of_runs.digest_summary_again()
    assert named(made_of_runs.failed(), "runs/second/small.json")


def test_nothing_is_noticed_where_nobody_touched_them(made_of_runs: Forger) -> None:
    checks = made_of_runs.checks(sample=100)
    assert [check for check in checks if check.status in (FAILED, WARNING) and "code" not in check.name.split()] == []
    assert PASSED in {check.status for check in checks if check.name == BITS}
    elsewhere = Forger(made_of_runs.results)
    assert elsewhere.noticed() == []
