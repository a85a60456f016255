"""Make datasets in BEIR form from random words.

    python -m bench.prepare.inputs FOLDER DOCUMENTS...

A folder a number of documents. Lengths are log-normal as in text collections; a tenth of the documents has no title, some words
are not ASCII, some hold what JSON escapes, and some documents have the text of another.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

VOCABULARY = 6000
STREAM_WORDS = 2_000_000
QUERIES = 1000
BLOCK = 10_000
ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшэюя", "àâçéèêëîïôöùûüß", 'aeiou"\\/')
SHARES = (0.95, 0.02, 0.02, 0.01)


def words(rng: np.random.Generator) -> list[str]:
    """A vocabulary; the first words are the frequent ones, and short."""
    found = []
    for rank in range(VOCABULARY):
        alphabet = ALPHABETS[int(rng.choice(len(ALPHABETS), p=SHARES))]
        length = 2 + int(rng.poisson(1 + np.log1p(rank) / 2))
        found.append("".join(alphabet[i] for i in rng.integers(0, len(alphabet), length)))
    return found


def stream(rng: np.random.Generator) -> str:
    """A long text, words by Zipf's law, of which every document is a piece."""
    shares = 1 / np.arange(10, 10 + VOCABULARY)
    vocabulary = np.array(words(rng), dtype=object)
    return " ".join(vocabulary[rng.choice(VOCABULARY, STREAM_WORDS, p=shares / shares.sum())])


def documents(rng: np.random.Generator, count: int) -> Iterator[str]:
    """Lines of corpus.jsonl, a block of documents at a time."""
    text = stream(rng)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        lengths = np.clip(rng.lognormal(np.log(390) - 0.32, 0.8, size), 20, 20_000).astype(int)
        starts = rng.integers(0, len(text) - 20_000, size)
        copies = rng.random(size) < 0.002
        starts[copies], lengths[copies] = starts[0], lengths[0]
        titles = np.where(rng.random(size) < 0.1, 0, rng.integers(10, 70, size))
        pieces = (starts.tolist(), lengths.tolist(), titles.tolist())
        for number, (start, length, title) in enumerate(zip(*pieces, strict=True), first):
            record = {"_id": f"doc{number}", "title": text[start - title : start].strip() if start > title else ""}
            yield json.dumps({**record, "text": text[start : start + length].strip(), "metadata": {}}) + "\n"


def write(folder: Path, count: int) -> None:
    """Write one dataset."""
    rng = np.random.default_rng(count)
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as stream_out:
        stream_out.writelines(documents(rng, count))
    queries = [json.dumps({"_id": f"query{number}", "text": f"query {number}", "metadata": {}}) for number in range(QUERIES)]
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n")
    rows = [f"query{number}\tdoc{rng.integers(count)}\t1" for number in range(QUERIES)]
    (folder / "qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")


if __name__ == "__main__":
    for documents_count in sys.argv[2:]:
        write(Path(sys.argv[1], documents_count), int(documents_count))
