"""Matches of hits of late interaction: each token of the query, the most similar one of the document."""

from pathlib import Path

import pytest

from beirflow.core.layout import MODEL
from beirflow.families.late_interaction.encode import TokenEncoding
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.family import FAMILY
from beirflow.families.late_interaction.matches import match_tokens
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.matches import Pairs
from lexical_results import DATASET, rows_of
from model_results import COMPUTING, LateResults, pairs_of
from tiny_bert import WORDS
from tiny_colbert import save_colbert

CORPUS = [("d0", "", ""), *((f"d{i}", "", " ".join(WORDS[i : i + 1 + i % 5]) + " .") for i in range(1, 20))]
QUERIES = {"q1": "w1 w2 w3", "q2": "w4", "q3": "w7 w9"}

pytestmark = pytest.mark.usefixtures("threads_as_before")


Found = tuple[TokenEncoding, Pairs, list[float]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Give the encoder of hits, the hits, and their scores."""
    tmp_path = tmp_path_factory.mktemp("matches")
    settings = LateSettings("s", model=str(save_colbert(tmp_path / "model")), query_lengths={DATASET: 9})
    made = LateResults(tmp_path, CORPUS, QUERIES, size=20, top_k=6).make_all(settings)
    rows = rows_of(made.find_all(settings))
    pairs = pairs_of(rows, QUERIES, CORPUS)
    encoding = TokenEncoding(settings.for_dataset(DATASET), made.path(MODEL, system="s"), **COMPUTING)
    return encoding, pairs, [score for _, _, score, _ in rows]


def test_each_word_of_the_query_has_a_word_of_the_document_or_a_special_token(found: Found) -> None:
    encoding, pairs, _ = found
    matched = match_tokens(pairs, encoding)
    assert matched.made["precision"] == "float32"
    for query, document, every in zip(pairs.query, pairs.document, matched.matches, strict=True):
        assert [match.of_query for match in every] == pairs.queries[query].split()
        assert {match.of_document for match in every} <= {*pairs.documents[document].replace(".", "").split(), ""}
        assert all(-1.01 <= match.adds <= 1.01 for match in every)
    assert any(match.of_document for every in matched.matches for match in every)


def test_all_tokens_add_up_to_the_score(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    def every_token(encoder: TokenEncoder, texts: list[str]) -> list[list[str | None]]:
        return [["any"] * int(count) for count in TokenVectors.together(list(encoder.windows(texts))).counts]

    monkeypatch.setattr(TokenEncoder, "tokens_of", every_token)
    encoding, pairs, scores = found
    for every, score in zip(match_tokens(pairs, encoding).matches, scores, strict=True):
        assert sum(match.adds for match in every) == pytest.approx(score, abs=1e-4)


def test_every_vector_has_a_token(found: Found) -> None:
    encoding, pairs, _ = found
    for kind, texts in (("queries", [*pairs.queries, "w1 . w2"]), ("documents", [*pairs.documents, ". , ."])):
        encoder = TokenEncoder(encoding.settings, Path(encoding.settings.model), kind, **encoding.on)
        counts = TokenVectors.together(list(encoder.windows(texts))).counts.tolist()
        assert list(map(len, encoder.tokens_of(texts))) == counts


def test_pooled_vectors_are_those_of_no_token() -> None:
    assert FAMILY.matches(LateSettings("s", model="some")) is not None
    assert FAMILY.matches(LateSettings("s", model="some", pool_factor=2)) is None
