"""Runs of expanded documents are bit for bit those of a corpus with the expansions written in."""

import re
import shlex
import shutil
from pathlib import Path
from random import Random

import pytest

from beirflow.core.errors import DataError
from beirflow.core.layout import RUN
from beirflow.families.lexical import LexicalSettings
from lexical_results import LexicalResults, Row, rows_of
from lucene_reference import Document

WORDS = [*["cats", "running", "u.s.", "café", "the", "東京", "o'neil's", "[UNK]", "a-b"], "x" * 300, *(f"w{i}" for i in range(9))]
RANDOM = Random(1)
TEXTS = ["", " ", *(" ".join(RANDOM.choices(["cats", "running", "U.S.", "the", "w1", "w2", "w3"], k=12)) for _ in range(8))]
CORPUS: list[Document] = [(f"d{i}", RANDOM.choice(["", "cat", "w1 w2"]), RANDOM.choice(TEXTS)) for i in range(40)]
QUERIES_OF_CORPUS = {"q1": "running cat w1", "q2": "w1 w1 w8 \u6771\u4eac", "q3": "the of", "d5": "u.s. o'neil caf\u00e9 unk b"}


def expanded(folder: Path, settings: LexicalSettings, added: dict[str, object], size: int = 17) -> LexicalResults:
    """A corpus with what is added to its documents, indexed."""
    made = LexicalResults(folder, CORPUS, QUERIES_OF_CORPUS, size=size, top_k=30)
    return made.give(settings, added).index_all(settings.index)


def plainly(folder: Path, corpus: list[Document], fields: tuple[str, ...] = ("contents",)) -> list[Row]:
    """The run on a corpus to whose documents nothing is added."""
    made = LexicalResults(folder / "by hand", corpus, QUERIES_OF_CORPUS, size=11, top_k=30).index_all()
    return rows_of(made.run(LexicalSettings("mine", fields=fields)))


def queries_of(seed: int = 4) -> dict[str, list[str]]:
    """Up to three queries a document; every fifth has none."""
    random = Random(seed)
    return {
        doc_id: [" ".join(random.choices(WORDS, k=random.randrange(1, 6))) for _ in range(random.randrange(4) if i % 5 else 0)]
        for i, (doc_id, _, _) in enumerate(CORPUS)
    }


def weights_of(seed: int = 5) -> dict[str, dict[str, float]]:
    """Weights of some words; every sixth document has none, some words count nothing."""
    random = Random(seed)
    return {
        doc_id: {word: round(random.random() ** 4, 5) for word in random.sample(WORDS, random.randrange(1, 9) if i % 6 else 0)}
        for i, (doc_id, _, _) in enumerate(CORPUS)
    }


@pytest.mark.parametrize(("fields", "size"), [(("contents",), 7), (("title", "text"), 1000), (("text",), 17)])
def test_appended_queries_score_as_in_a_corpus_that_has_them(tmp_path: Path, fields: tuple[str, ...], size: int) -> None:
    added = queries_of()
    settings = LexicalSettings("mine", fields=fields, expansion={"path": str(tmp_path / "given.jsonl")})  # type: ignore[arg-type]
    found = expanded(tmp_path, settings, added, size).run(settings)
    by_hand = [(doc_id, title, " ".join([text, *added[doc_id]])) for doc_id, title, text in CORPUS]
    assert rows_of(found) == plainly(tmp_path, by_hand, fields)
    assert rows_of(found) != plainly(tmp_path / "none", CORPUS, fields)


def test_queries_as_a_field_add_the_scores_of_two_fields(tmp_path: Path) -> None:
    added = queries_of()
    settings = LexicalSettings("mine", expansion={"path": str(tmp_path / "given.jsonl"), "join": "field"})  # type: ignore[arg-type]
    found = expanded(tmp_path, settings, added).run(settings)
    by_hand = [(doc_id, " ".join(added[doc_id]), f"{title}\n{text}") for doc_id, title, text in CORPUS]
    assert rows_of(found) == plainly(tmp_path, by_hand, ("title", "text"))


@pytest.mark.parametrize(("scale", "size"), [("sqrt", 7), ("none", 1000)])
def test_weighted_words_score_as_if_they_were_repeated(tmp_path: Path, scale: str, size: int) -> None:
    added = weights_of()
    settings = LexicalSettings("mine", weights={"path": str(tmp_path / "given.jsonl"), "scale": scale})  # type: ignore[arg-type]
    found = expanded(tmp_path, settings, added, size).run(settings)

    def repeated(words: dict[str, float]) -> str:
        times = {word: round(100 * (weight**0.5 if scale == "sqrt" else weight)) for word, weight in words.items()}
        return " ".join(word for word, count in times.items() for _ in range(count))

    by_hand = [(doc_id, "", repeated(added[doc_id])) for doc_id, _, _ in CORPUS]
    assert rows_of(found) == plainly(tmp_path, by_hand)
    assert len(rows_of(found)) > 20


def test_weights_beyond_what_is_counted_exactly_are_refused(tmp_path: Path) -> None:
    settings = LexicalSettings("mine", weights={"path": str(tmp_path / "given.jsonl"), "scale": "none"})  # type: ignore[arg-type]
    heavy = weights_of() | {CORPUS[7][0]: {"cats": 1e300}}
    with pytest.raises(DataError, match="of the chunk would have 1,000,000,000 terms"):
        expanded(tmp_path, settings, heavy)


def test_an_expansion_from_two_versions_of_a_file_makes_no_run_until_it_is_read_again(tmp_path: Path) -> None:
    settings, before, after = LexicalSettings("x", expansion={"path": "/given/{dataset}.jsonl"}), queries_of(4), queries_of(5)
    made = LexicalResults(tmp_path, CORPUS, QUERIES_OF_CORPUS, size=17, top_k=30)
    made.give(settings, before, [0]).give(settings, after, [1, 2]).index_all(settings.index)
    expected = (
        r"chunk-1\.json: read from a file with the sha256 \w+, but .*chunk-0\.json from one with \w+; the file .*was replaced"
    )
    with pytest.raises(DataError, match=expected) as caught:
        made.run(settings)
    assert not Path(made.path(RUN, system="x")).exists()
    for folder in shlex.split(re.findall("run again: rm -r (.*)", str(caught.value))[0]):
        shutil.rmtree(folder)
    assert not [path for path in made.results.rglob("*") if path.is_file() and path.parts[len(made.results.parts)] != "corpora"]
    run = made.give(settings, after).index_all(settings.index).run(settings)
    assert rows_of(run) == rows_of(expanded(tmp_path / "other", settings, after).run(settings))
