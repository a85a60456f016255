"""Terms are Lucene's: golden ones, and those of the grammar applied without any short cut."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucene_reference
from beirflow.families.postings import analyzer
from beirflow.families.postings.analyzer import STOP_WORDS, Vocabulary, analyze, cut
from beirflow.families.postings.grammar import tokenize
from beirflow.families.postings.porter import stem

GOLDEN = json.loads((Path(__file__).parents[3] / "data/lucene_golden.json").read_text(encoding="utf-8"))

# Every kind of character that the grammar tells apart, and many of the signs that may join.
SIGNS = (
    "aAsS's'1209_.,;:'\"#*-/@ \n\t\x00\x1f\u00a0\u2019\uff07\u201d\u0130\u03a3\u00e9\u0301\u200d\ufe0f\u20e3\u05d0"
    "\u05f4\u0e01\u6771\u3042\u30a2\uac00\uff11\U0001f600\U0001f1e9\U0001d41a\u00a9\u3000"
)
texts = st.one_of(
    st.text(st.sampled_from(SIGNS), max_size=30),
    st.text(max_size=20),
    st.lists(
        st.sampled_from(["the", "cat's", "U.S.A.", "3.14", "a_b", '"it\'s"', "#1\ufe0f\u20e3", "node.js", "rats'"]), max_size=6
    ).map(" ".join),
)


@pytest.mark.parametrize(("text", "terms"), GOLDEN["tokens"])
def test_terms_are_lucenes(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


def test_stop_words_are_lucenes() -> None:
    assert set(GOLDEN["stopwords"]) == STOP_WORDS


@settings(max_examples=600)
@given(texts)
def test_short_cuts_change_no_term(text: str) -> None:
    assert analyze(text) == lucene_reference.analyze(text)


@settings(max_examples=300)
@given(st.text(st.sampled_from("a1_.',:; "), max_size=1200), st.integers(200, 300))
def test_long_tokens_are_cut_alike_with_and_without_short_cuts(text: str, length: int) -> None:
    assert analyze("b" * length + text) == lucene_reference.analyze("b" * length + text)


def test_a_token_ends_after_255_units_of_utf16() -> None:
    assert list(map(len, tokenize("a" * 600))) == [255, 255, 90]
    assert list(map(len, tokenize("\U0001d41a" * 300))) == [127, 127, 46]


@pytest.mark.parametrize("text", ["_" * 3_000 + "a", "a" * 200_000, "_" * 300, "\u200d" * 3_000 + "a", "a." * 50_000])
def test_texts_without_spaces_take_no_quadratic_time(text: str) -> None:
    assert sum(map(len, tokenize(text))) <= len(text)


ENDINGS = [
    *"sye", "ed", "ing", "eed", "ies", "sses", "ll", "ss", "tt", "yy", "zz", "ational", "bli", "logi", "ousness", "icate",
    "ative", "ful", "ement", "sion", "ion", "ize",
]  # fmt: skip


@settings(max_examples=2000)
@given(
    st.text(st.sampled_from("abelstyiouxzng\u00e9\U0001d41a"), max_size=6),
    st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join),
)
def test_stems_are_nltks(beginning: str, end: str) -> None:
    assert stem(beginning + end) == lucene_reference.stem(beginning + end)


@given(st.lists(texts, max_size=5), st.sampled_from([0, 1, 2_000_000]))
def test_a_vocabulary_numbers_the_terms_of_each_text(some: list[str], remembered: int) -> None:
    before, analyzer.MOST_PIECES = analyzer.MOST_PIECES, remembered
    try:
        vocabulary = Vocabulary()
        for _ in range(2):
            terms, numbers = vocabulary.number(cut(pa.array(some, pa.large_string())))
            for i, text in enumerate(some):
                assert sorted(vocabulary.terms[n] for n in terms[numbers == i]) == sorted(lucene_reference.analyze(text))
    finally:
        analyzer.MOST_PIECES = before
