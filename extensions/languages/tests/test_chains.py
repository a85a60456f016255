"""Terms and scores in every language are those of Lucene, which makes them again where its jar is."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anserini
import beirflow.extensions.languages.chains
from beirflow.core.errors import ConfigError
from beirflow.extensions.languages.chains import STEPS, chain
from beirflow.extensions.languages.names import ANALYZERS, REFUSED
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.fields import Index
from beirflow.families.postings.analyzer import analyze
from lexical_results import LexicalResults, rows_of

DATA = Path(__file__).parent
GOLDEN: dict[str, dict[str, Any]] = json.loads((DATA / "lucene_languages.json").read_text(encoding="utf-8"))
LANGUAGES = [language for language in GOLDEN if language != "_about"]


def test_every_analyzer_is_compared() -> None:
    assert {f"lucene-{language}" for language in LANGUAGES} == set(ANALYZERS)
    assert set(STEPS) | {"swahili", "yoruba"} == set(LANGUAGES)
    assert not set(ANALYZERS) & set(REFUSED)


@pytest.mark.parametrize("language", LANGUAGES)
def test_terms_are_lucenes(language: str) -> None:
    found = [(text, analyze(text, f"lucene-{language}")) for text, _ in GOLDEN[language]["texts"]]
    assert found == [(text, terms) for text, terms in GOLDEN[language]["texts"]]


def test_half_a_character_is_written_as_lucene_writes_it_in_its_index() -> None:
    assert analyze("\U0001d4b3\u09cd\u09ac", "lucene-bengali") == ["\U0001d4b3\ufffd"]


@pytest.mark.parametrize("weights", ["counts", "bm25"])
@pytest.mark.parametrize("language", ["finnish", "chinese", "swahili"])
def test_scores_are_lucenes_in_every_bit(tmp_path: Path, language: str, weights: str) -> None:
    golden = GOLDEN[language]
    corpus = [(f"{number:03}", "", text) for number, (text, _) in enumerate(golden["texts"])]
    queries = {f"q{number}": query for number, (query, *_) in enumerate(golden["queries"])}
    system = LexicalSettings("mine", analyzer=f"lucene-{language}", query_weights=weights)
    made = LexicalResults(tmp_path, corpus, queries, size=15).index_all(Index(system.analyzer))
    found: dict[str, dict[str, float]] = {query: {} for query in queries}
    for query, doc_id, score, _ in rows_of(made.run(system)):
        found[query][doc_id] = score
    assert found == {
        f"q{number}": {
            f"{int(doc):03}": float(np.float32(score))
            for doc, score in (hit.split(":") for hit in runs[weights == "bm25"].split())
        }
        for number, (_, *runs) in enumerate(golden["queries"])
    }


@pytest.mark.skipif(bool(anserini.missing()), reason=anserini.missing())
@pytest.mark.parametrize("language", LANGUAGES)
def test_lucene_makes_the_expected_terms_and_scores_again(language: str) -> None:
    golden = GOLDEN[language]
    lines = [f"{golden['class']}\ttext\t{text}" for text, _ in golden["texts"]]
    lines += [f"{golden['class']}\tquery\t{query}" for query, *_ in golden["queries"]]
    command = ["java", "-cp", str(anserini.jar()), str(DATA / "Lucene.java")]
    done = subprocess.run(command, input="\n".join(lines).encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
    expected = [made for _, made in golden["texts"]] + [runs for _, *runs in golden["queries"]]
    assert done.split("\n")[:-1] == ["\t".join(each) for each in expected]


def test_stems_of_another_pystemmer_and_other_stop_words_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(beirflow.extensions.languages.chains, "SNOWBALL_VERSION", "1.0")
    with pytest.raises(ConfigError, match=r"lucene-finnish needs PyStemmer 1\.0.*pip install PyStemmer==1\.0"):
        chain.__wrapped__("finnish")
    (tmp_path / "other.json").write_text("{}")
    monkeypatch.setattr(beirflow.extensions.languages.chains, "_STOP_WORDS", tmp_path / "other.json")
    with pytest.raises(ConfigError, match=r"other\.json has the sha256 .* other stop words, other scores"):
        chain.__wrapped__("french")
