"""Marked are the words that BM25 finds, whatever the system that found the document."""

import re

from beirflow.analysis.matched_words import WORD, matched_words
from beirflow.postings.analyzer import analyze, analyze_all
from hypothesis import given
from hypothesis import strategies as st


def test_words_with_the_stem_of_one_of_the_query_are_found() -> None:
    texts = ["Running in the MORNING", "she runs; a runner's mornings, covid-19", "no match of theirs"]
    assert matched_words("Does he run in the morning?", texts) == ["morning", "mornings", "running", "runs"]
    assert matched_words("COVID-19's", texts) == ["19", "covid", "s"]  # as Lucene cuts 19's
    assert matched_words("to be or not to be", ["to be or not to be"]) == []
    assert matched_words("anything", []) == []


@given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=4))
def test_what_is_found_are_words_of_the_texts_with_a_term_of_the_query(query: str, texts: list[str]) -> None:
    terms = set(analyze(query))
    words = {word.lower() for text in texts for word in WORD.findall(text)}
    assert matched_words(query, texts) == sorted(word for word in words if terms & set(analyze(word)))
    assert all(re.fullmatch(r"[^_]+", word) for word in words)


@given(st.lists(st.text(max_size=60), max_size=6))
def test_texts_are_analysed_together_as_each_alone(texts: list[str]) -> None:
    assert analyze_all(texts) == [analyze(text) for text in texts]
