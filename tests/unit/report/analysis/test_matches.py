"""Hits are matched with the texts that they were found in, and no model is loaded for none."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import DataError
from beirflow.core.layout import DOCUMENTS, INSPECTION, MATCHES, MODEL, QUERIES
from beirflow.core.records import read_json, write_record
from beirflow.data.corpus_files import recorded_digest
from beirflow.families.sparse.settings import SparseSettings
from beirflow.models.computing.folder_tokenizer import readable
from beirflow.report.analysis.matches import match_hits
from call_with_fields import call
from lexical_results import DATASET
from model_results import COMPUTING, SparseResults
from tiny_sparse import save_masked_lm

CORPUS = [("d1", "a title", "w1 w2"), ("d2", "", "w3")]
QUERIES_OF = {"q1": "w1 w2 w3", "q2": "w4"}

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def made(tmp_path: Path) -> SparseResults:
    return SparseResults(tmp_path, CORPUS, QUERIES_OF, size=2)


def matched(made: SparseResults, hits: dict[str, list[str]], finder: str, other: str | None = None) -> dict[str, Any]:
    """Write the matches of some hits and read them."""
    settings = SparseSettings("s", model=str(save_masked_lm(made.results.parent / "model")))
    made.fetch(settings)
    texts = {made.path(pattern): recorded_digest(made.path(pattern)) for pattern in (QUERIES, DOCUMENTS)}
    queries = [{"id": query, "hits": {"s": [{"doc_id": doc_id} for doc_id in found]}} for query, found in hits.items()]
    inspection, output = made.path(INSPECTION), made.path(MATCHES, system="s")
    inputs = texts | ({made.path(DOCUMENTS): other} if other else {})
    write_record(inspection, made.job("inspect"), inputs=inputs, outputs={}, queries=queries)
    paths = {
        "queries_path": made.path(QUERIES),
        "documents_path": made.path(DOCUMENTS),
        "model_path": made.path(MODEL, system="s"),
    }
    asked = {"system": "s", "dataset": DATASET, "finder": finder, "settings": settings, "job": made.job("match")}
    call(match_hits, **asked, **paths, inspection_path=inspection, output_path=output, **COMPUTING)
    return read_json(output)["queries"]


FINDER = "beirflow.families.sparse.matches:match_terms"


def test_every_hit_of_every_query_has_its_matches_in_its_place(made: SparseResults) -> None:
    found = matched(made, {"q1": ["d2", "d1"], "q2": ["d2"]}, FINDER)
    assert [(query, list(of)) for query, of in found.items()] == [("q1", ["d2", "d1"]), ("q2", ["d2"])]
    assert found["q1"]["d2"] != found["q1"]["d1"]
    assert found["q1"]["d2"] == matched(made, {"q1": ["d2"]}, FINDER)["q1"]["d2"]


def test_without_hits_no_model_is_loaded(made: SparseResults) -> None:
    assert matched(made, {"q1": [], "q2": []}, "nowhere:nothing") == {"q1": {}, "q2": {}}


def test_an_inspection_of_other_texts_is_refused(made: SparseResults) -> None:
    with pytest.raises(DataError, match="it was made from the"):
        matched(made, {"q1": ["d1"]}, FINDER, other="0" * 64)


def test_a_token_without_letters_is_shown_as_the_tokenizer_has_it() -> None:
    class Bytes:
        def decode(self, tokens: list[int]) -> str:
            return {7: " cat", 8: " "}[tokens[0]]

        def convert_ids_to_tokens(self, token: int) -> str:
            return {7: "\u0120cat", 8: "\u0120"}[token]

    assert [readable(Bytes(), token) for token in (7, 8)] == ["cat", "\u0120"]
