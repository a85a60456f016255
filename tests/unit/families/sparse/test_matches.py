"""Matches of hits of a sparse system: terms that both texts have, whose products are the score."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.core.layout import MODEL
from beirflow.families.sparse import matches
from beirflow.families.sparse.matches import match_terms
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigh import Weighing
from lexical_results import rows_of
from model_results import COMPUTING, SparseResults, pairs_of
from tiny_bert import WORDS
from tiny_sparse import save_masked_lm

CORPUS = [(f"d{i}", "", " ".join(WORDS[i : i + 1 + i % 5])) for i in range(20)]
QUERIES = {"q1": "w1 w2 w3", "q2": "w4", "q3": "w7 w8 w9"}

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.mark.parametrize("own", [{"quantize": "lucene"}, {"quantize": "none"}, {"queries": "tokens"}], ids=str)
def test_all_matches_of_a_hit_add_up_to_its_score(tmp_path: Path, own: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SparseSettings("s", model=str(save_masked_lm(tmp_path / "model")), **own)
    made = SparseResults(tmp_path, CORPUS, QUERIES, size=20, top_k=6).make_all(settings)
    rows = rows_of(made.find_all(settings))
    pairs = pairs_of(rows, QUERIES, CORPUS)
    weighing = Weighing(settings, made.path(MODEL, system="s"), **COMPUTING)
    few = match_terms(pairs, weighing).matches
    monkeypatch.setattr(matches, "MOST_TERMS", 10**6)
    found = match_terms(pairs, weighing)
    assert found.made["precision"] == "float32"
    for (_, _, score, _), most, every in zip(rows, few, found.matches, strict=True):
        adds = [match.adds for match in every]
        assert sum(adds) == pytest.approx(score, rel=1e-5)
        assert adds == sorted(adds, reverse=True)
        assert most == every[:12]
        assert all(match.of_query == match.of_document for match in every)
        assert len({match.of_query for match in every}) == len(every)
    assert max(map(len, found.matches)) > (1 if "queries" in own else 12)
