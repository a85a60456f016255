"""Words are counted as a plain implementation counts them, however often the counts are summed."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from beirflow.paper.words import WordCounter, read_words, write_words

TEXTS = [
    "The cell, the CELL and the cell's wall",
    "",
    " … — ",
    "Straße straße ÉCOLE école 42 4.2 naïve_naïve",
    "日本語 のテキスト cell",
    "zebra z " * 50,
]


def plain(texts: list[str]) -> dict[str, int]:
    return dict(Counter(word for text in texts for word in re.split(r"[\W_]+", text.lower()) if word))


@pytest.mark.parametrize("most", [1, 3, 7, 1 << 20])
def test_counts_are_those_of_a_plain_implementation(tmp_path: Path, most: int) -> None:
    counter = WordCounter(most)
    for start in range(0, 3 * len(TEXTS), 2):
        counter.add(pa.array((3 * TEXTS)[start : start + 2], pa.large_string()))
    totals = write_words(tmp_path / "words.parquet", counter)
    found = [(first, part.to_pydict()) for first, part in read_words(tmp_path / "words.parquet")]
    words = [word for _, part in found for word in part["word"]]
    counted = dict(zip(words, (count for _, part in found for count in part["count"]), strict=True))
    assert counted == plain(3 * TEXTS)
    assert totals == {"words": sum(counted.values()), "different_words": len(counted)}
    assert all(one.encode() < other.encode() for one, other in pairwise(words))
    assert all(word.encode()[0] == first for first, part in found for word in part["word"])


def test_a_corpus_without_words_has_no_counts(tmp_path: Path) -> None:
    counter = WordCounter()
    counter.add(pa.array(["", "…"], pa.large_string()))
    assert write_words(tmp_path / "words.parquet", counter) == {"words": 0, "different_words": 0}
    assert list(read_words(tmp_path / "words.parquet")) == []
