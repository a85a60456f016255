"""A lexical system that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from answering import answered
from beirflow.core.errors import DataError
from beirflow.core.layout import POSTINGS
from beirflow.families import answers
from beirflow.families.answers import NoAnswerError
from beirflow.families.lexical import LexicalSettings
from beirflow.families.system import System
from lexical_results import DATASET, LexicalResults, Row, damage, rows_of

RANDOM = Random(1)
WORDS = [*(f"w{i}" for i in range(30)), "the", "U.S.", "東"]
CORPUS = [(f"d{i}", " ".join(RANDOM.choices(WORDS[:3], k=i % 3)), " ".join(RANDOM.choices(WORDS, k=i % 7))) for i in range(50)]
QUERIES = {"q1": "w1 w2 w2", "q2": "the", "q3": "nowhere", "q4": "東 w29 w3 w4", "q5": "w1"}
"""One of stop words alone, and one of which no term is there."""


@pytest.fixture
def made(tmp_path: Path) -> LexicalResults:
    return LexicalResults(tmp_path, CORPUS, QUERIES, size=20, top_k=12).index_all()


def answers_of(made: LexicalResults, **own: Any) -> tuple[list[Row], list[Row]]:
    """The rows of the run, and the answers."""
    settings = LexicalSettings("bm25", **own)
    return rows_of(made.run(settings)), answered(made.results, DATASET, [System("bm25", "lexical", settings)], made.top_k)


@pytest.mark.parametrize("fields", [("contents",), ("title", "text")])
@pytest.mark.parametrize("ties", ["ascending", "descending"])
def test_answers_are_the_run(made: LexicalResults, fields: tuple[str, ...], ties: str) -> None:
    expected, found = answers_of(made, fields=fields, ties=ties)
    assert len({score for _, _, score, _ in expected}) < len(expected)  # some tie
    assert found == expected


def test_postings_of_another_run_and_those_that_do_not_fit_into_memory_are_refused(
    made: LexicalResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.run(settings := LexicalSettings("bm25"))
    system = System("bm25", "lexical", settings)
    with monkeypatch.context() as little:
        little.setattr(answers.psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
        with pytest.raises(NoAnswerError, match=r"GB of memory are needed to hold what is searched, and 0\.0 GB are free"):
            answered(made.results, DATASET, [system], made.top_k)
    damage(made.path(POSTINGS, chunk=1))
    with pytest.raises(DataError, match=r"chunk-1\.arrow: sha256 .*/runs/bm25/small\.json says"):
        answered(made.results, DATASET, [system], made.top_k)
