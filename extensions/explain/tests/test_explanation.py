"""Reasons for a difference from a published score: conventions measured one at a time, and the words of the records."""

import sys
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

import steps
from beir_writer import write_corpus_record
from beirflow.core.errors import DataError
from beirflow.core.layout import METRICS, PER_QUERY, QRELS
from beirflow.data.catalogue.catalogue import Catalogue
from beirflow.evaluation.conventions import CONVENTIONS
from beirflow.evaluation.evaluate import evaluate_run
from beirflow.extensions.explain import explanation
from beirflow.extensions.explain.explanation import CAVEAT, explain
from run_results import RunResults

QUERIES = {"q1": "one", "q2": "two", "d9": "itself"}
QRELS_OF = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}, "d9": {"d5": 1}}
RUN = {"q1": {"d1": 2.0, "d7": 2.0, "d2": 1.0}, "d9": {"d5": 3.0, "d6": 1.0}}
"""The first two documents of q1 tie, q2 has no results, and the document d9 was dropped, since it is its own query."""


def trec_eval(run: dict[str, dict[str, float]], queries: tuple[str, ...] = ("q1", "q2", "d9")) -> float:
    scores = pytrec_eval.RelevanceEvaluator(QRELS_OF, {"ndcg_cut.10"}).evaluate(run)
    return sum(scores.get(query, {}).get("ndcg_cut_10", 0.0) for query in queries) / len(queries)


TIES = trec_eval({**RUN, "q1": {"d1": 2.1, "d7": 2.0, "d2": 1.0}})
SELF_MATCHES = trec_eval({**RUN, "d9": {"d9": 9.0, "d5": 3.0, "d6": 1.0}})
SOME = trec_eval(RUN, ("q1", "d9"))


UNKNOWN = ("Judgements of another version: none here;", "Computed with: python 3.", "Documents with a title: 0 of 9;")


def page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, score: float, *, official: bool = True, extra: str | None = None, **source: Any
) -> tuple[str, str]:
    """Give the texts of terminal and page for a published score."""
    entry = {"source": "them", "decimals": 4, "conventions": "trec_eval-9", "scores": {"small": [score]}, **source}
    known = Catalogue("", {}, {"words": [entry]})
    monkeypatch.setattr(explanation, "load_catalogue", lambda: known)
    documents = {f"d{number}": "text" for number in range(1, 10)}
    made = RunResults(folder, documents, QUERIES, qrels=QRELS_OF)
    counts = {"documents": 9, "queries": 3, "judgements": 4, "judgements_without_document": 0}
    write_corpus_record(Path(made.corpus_path).parent, folder, counts, split="test", official=official)
    run_path = made.write_run("words", RUN, seconds={}, counts={"self_matches_dropped": 1, "truncated_documents": 3})
    names = {"system": "words", "dataset": "small"}
    means, per_query, qrels = (str(folder / pattern(**names)) for pattern in (METRICS, PER_QUERY, QRELS))
    Path(means).parent.mkdir(parents=True)
    of_run = {"run_path": run_path, "qrels_path": qrels, "means_path": means, "job": made.job}
    of_evaluation = {"cutoffs": [10, 100], "conventions": {entry["conventions"]: ["NDCG@10"]}}
    steps.run(evaluate_run, made.job, [per_query, means], run=run_path, qrels=qrels, **of_evaluation, **names)
    path = folder / "explanation.html"
    settings = {"family": "lexical", "k1": 0.9}
    extra_path = str(folder / "more.qrels") if extra else None
    if extra_path:
        Path(extra_path).write_text(str(extra))
    text = explain(**of_run, documents_path=made.documents_path, settings=settings, page_path=str(path), extra_path=extra_path)
    return text, path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("score", "how"),
    [
        (TIES, f"anserini: {CONVENTIONS['anserini'].words}"),
        (SELF_MATCHES, "self matches kept, on rank 1"),
        (SOME, "mean over queries with results only"),
        (0.123, None),
    ],
)
def test_the_convention_that_leads_to_the_published_score_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, score: float, how: str | None
) -> None:
    text, html = page(tmp_path, monkeypatch, round(score, 4))
    led = f"equal within 0.00005 with: {how}" if how else "no convention below explains it alone"
    assert text.splitlines()[0] == (
        f"NDCG@10: measured {trec_eval(RUN):.4f}, them {score:.4f}, {trec_eval(RUN) - round(score, 4):+.4f}; {led}"
    )
    assert led in html
    assert (CAVEAT in text) == (CAVEAT in html) == (how is not None)
    for sentence in (
        "Self matches dropped: 1.",
        "Truncated at the maximum length: 3 documents",
        "Queries without results: 1 of 3",
        *UNKNOWN,
    ):
        assert sentence in html


@pytest.mark.parametrize(
    ("lines", "version", "how"),
    [
        ("q1 0 d7 1", {**QRELS_OF, "q1": {"d1": 2, "d2": 1, "d7": 1}}, "as well"),
        ("q1 0 d1 0\nq1 0 d7 1", {**QRELS_OF, "q1": {"d1": 0, "d2": 1, "d7": 1}}, "as well, which count for the 1 pair of both"),
        ("q1 0 d1 1\nq1 0 d7 2\nd9 0 d6 2", {"q1": {"d1": 1, "d7": 2}, "d9": {"d6": 2}}, "alone"),
    ],
)
def test_further_judgements_and_those_of_another_version_are_conventions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, version: dict[str, dict[str, int]], how: str
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "QRELS_OF", version)
    with_them = trec_eval(RUN, tuple(version))
    monkeypatch.undo()
    text, html = page(tmp_path, monkeypatch, round(with_them, 4), extra=lines)
    assert f"equal within 0.00005 with: with the judgements of {tmp_path}/more.qrels {how}\n" in text
    assert UNKNOWN[0] not in html


def test_a_score_is_compared_as_its_source_evaluates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, html = page(tmp_path / "a", monkeypatch, round(TIES, 4), conventions="anserini")
    expected = f"measured {trec_eval(RUN):.4f}, as anserini evaluates {TIES:.4f}, them {TIES:.4f}; equal within 0.00005\n"
    assert expected in text
    for number in (trec_eval(RUN), TIES):
        assert html.count(f"{number:.4f}") > 2
    other: dict[str, Any] = {"conventions": "contriever", "printed_as": {"small": {"NDCG@10": "NDCG_exp@10"}}}
    assert "NDCG_exp@10, which the source prints as NDCG@10, " in page(tmp_path / "b", monkeypatch, 0.9, **other)[0]


def test_an_equal_score_and_one_that_is_not_comparable_are_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "; equal within 0.00005\n" in page(tmp_path / "a", monkeypatch, round(trec_eval(RUN), 4))[0]
    other_data = page(tmp_path / "c", monkeypatch, round(trec_eval(RUN), 4), official=False)[0]
    assert "; not comparable: not evaluated on the official data\n" in other_data
    barred = {"small": {"measures": ["NDCG@10"], "reason": "other judgements"}}
    assert "; not comparable: other judgements\n" in page(tmp_path / "b", monkeypatch, 0.9, not_comparable=barred)[0]


def test_a_result_without_a_published_score_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="has no score of words on small"):
        page(tmp_path, monkeypatch, 0.9, scores={"nfcorpus": [0.9]})
