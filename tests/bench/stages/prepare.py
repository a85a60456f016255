"""A corpus from JSON lines to documents in order of their length, beside beir; and one of MS MARCO's size, within 4 GB.

The figures of MS MARCO are those of MTEB's descriptive statistics of MSMARCO, dev (mteb/descriptive_stats/Retrieval/MSMARCO.json,
whose words for documents and queries are exchanged), and of workflow/catalogue/datasets.yaml: 8,841,823 passages without titles,
ids 0, 1, …, 2,969,059,106 characters, at most 1,669 a passage, all texts distinct; 6,980 queries of dev with 7,437 judgements,
and 502,939 of train in the same file. How lengths spread is not stated there: log-normal with sigma 0.45 is an assumption.
Passages are pieces of one text of Zipf's words, so one in 1,400 has the text of another.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.child import report

VOCABULARY, STREAM_WORDS, QUERIES, BLOCK = 6000, 2_000_000, 1000, 100_000
RARE = [f"{letters}{number}" for letters in ("абвгд", "àâçéè", 'so "\\/') for number in range(100)]
"""Words that are not ASCII, or hold what JSON escapes."""

MS_DOCUMENTS, MS_CHARACTERS = 8_841_823, 2_969_059_106
MS_QUERIES, MS_JUDGEMENTS, MS_OTHER_QUERIES = 6980, 7437, 502_939


class Shape(NamedTuple):
    """Lengths of texts in characters, which are log-normal, and the parts of them that have a title, or the text of another."""

    mean: float
    sigma: float
    shortest: int
    longest: int
    titled: float = 0.0
    copied: float = 0.0


COLLECTION = Shape(390, 0.8, 20, 20_000, titled=0.9, copied=0.002)
PASSAGES = Shape(MS_CHARACTERS / MS_DOCUMENTS, 0.45, 3, 1669)


def inputs(folder: Path, *counts: int) -> None:
    """Write datasets of random words in BEIR form, a folder for each number of documents."""
    for count in counts:
        rng = np.random.default_rng(count)
        write_lines(folder / str(count) / "corpus.jsonl", documents(rng, count, COLLECTION))
        rows = [f"{number}\t{rng.integers(count)}\t1" for number in range(QUERIES)]
        write_queries(folder / str(count), range(QUERIES), "test", rows)


def msmarco_inputs(folder: Path, count: int) -> None:
    """Write a dataset of MS MARCO's shape: ids, lengths, queries and judgements of its dev split."""
    rng = np.random.default_rng(count)
    write_lines(folder / "corpus.jsonl", documents(rng, count, PASSAGES))
    others = MS_OTHER_QUERIES * count // MS_DOCUMENTS
    ids = rng.permutation(1_200_000)[: MS_QUERIES + others].tolist()
    judged = rng.choice(count, MS_JUDGEMENTS, replace=count < MS_JUDGEMENTS).tolist()
    write_queries(folder, ids, "dev", [f"{ids[i % MS_QUERIES]}\t{document}\t1" for i, document in enumerate(judged)])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file of a new folder."""
    path.parent.mkdir(parents=True)
    with path.open("w") as stream:
        stream.writelines(lines)


def write_queries(folder: Path, ids: Iterable[int], split: str, rows: Sequence[str]) -> None:
    """Write queries, and judgements as lines of id, id and score."""
    records = ({"_id": str(number), "text": f"query {number}", "metadata": {}} for number in ids)
    (folder / "queries.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    write_lines(folder / f"qrels/{split}.tsv", (f"{row}\n" for row in ("query-id\tcorpus-id\tscore", *rows)))


def documents(rng: np.random.Generator, count: int, shape: Shape) -> Iterator[str]:
    """Lines of corpus.jsonl, whose texts are pieces of one text of words by Zipf's law."""
    from bench.stages.texts import Writer, words

    writer = Writer(rng, [*words(rng, VOCABULARY), *RARE])
    text = str(writer.write(writer.draw(STREAM_WORDS), np.array([STREAM_WORDS]))[0])
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        drawn = rng.lognormal(np.log(shape.mean) - shape.sigma**2 / 2, shape.sigma, size)
        lengths = np.clip(drawn, shape.shortest, shape.longest).astype(int)
        starts = rng.integers(100, len(text) - shape.longest, size)  # with room for a title before them
        titles = np.where(rng.random(size) < shape.titled, rng.integers(10, 70, size), 0)
        copies = rng.random(size) < shape.copied
        starts[copies], lengths[copies], titles[copies] = starts[0], lengths[0], titles[0]
        pieces = zip((starts - titles).tolist(), starts.tolist(), (starts + lengths).tolist(), strict=True)
        for number, (before, start, end) in enumerate(pieces, first):
            record = {"_id": str(number), "title": text[before:start].strip(), "text": text[start:end], "metadata": {}}
            yield json.dumps(record) + "\n"


def ours(output: Path, source: Path, chunk_documents: int) -> None:
    """Run ``prepare_corpus``."""
    from beirflow.core.records import Job
    from beirflow.data.prepare import prepare_corpus
    from call_with_fields import call

    (qrels,) = (source / "qrels").iterdir()
    call(
        prepare_corpus,
        source_path=str(source),
        forum=None,
        split=qrels.stem,
        chunks=number_of_chunks(source, chunk_documents),
        expected={"documents": None, "queries": None, "files": {}},
        documents_path=str(output / "documents.parquet"),
        queries_path=str(output / "queries.parquet"),
        job=Job(output),
    )


def number_of_chunks(source: Path, chunk_documents: int) -> int:
    """Chunks of a corpus, whose folder is named after its number of documents."""
    return -(-int(source.name) // chunk_documents)


def peer_beir(output: Path, source: Path) -> None:
    """Load a dataset and sort its corpus by length; the two statements are those of beir.retrieval.search.dense.exact_search."""
    from beir.datasets.data_loader import GenericDataLoader

    corpus, _, _ = GenericDataLoader(str(source)).load(split="test")
    corpus_ids = sorted(
        corpus, key=lambda doc_id: len(corpus[doc_id].get("title", "") + corpus[doc_id].get("text", "")), reverse=True
    )
    _ = [corpus[doc_id] for doc_id in corpus_ids]


def check(source: Path, output: Path, chunk_documents: int) -> None:
    """Compare the documents with the corpus: every text under its id, sorted by length, dealt to the chunks in turn."""
    import pyarrow.parquet as pq

    chunks = number_of_chunks(source, chunk_documents)
    lengths, hashes = read_documents(source / "corpus.jsonl")
    place, chunk_of = expected_chunks(lengths, hashes, chunks)
    file = pq.ParquetFile(output / "documents.parquet")
    if (file.num_row_groups, file.metadata.num_rows) != (chunks, len(lengths)):
        sys.exit(f"{file.metadata.num_rows} documents in {file.num_row_groups} chunks, expected {len(lengths)} in {chunks}")
    for chunk in range(chunks):
        table = file.read_row_group(chunk)
        ids = np.array(table["doc_id"].to_pylist(), dtype=int)
        expected = np.flatnonzero(chunk_of == chunk)
        if not np.array_equal(ids, expected[np.argsort(place[expected])]):
            sys.exit(f"chunk {chunk} does not hold every {chunks}th document in order of length")
        if not np.array_equal([hash(text) for text in table["text"].to_pylist()], hashes[ids]):
            sys.exit(f"chunk {chunk} holds other texts than the corpus")
    distinct = len(np.unique(hashes))
    report(agree=f"{len(lengths):,} documents, {distinct:,} distinct texts: each in its chunk, at its place, with its text")


def read_documents(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and hashes of the texts with their titles, by id, which is the number of the line."""
    lengths, hashes = [], []
    with path.open() as lines:
        for number, line in enumerate(lines):
            document = json.loads(line)
            if document["_id"] != str(number):
                sys.exit(f"line {number} has the id {document['_id']}")
            text = f"{document['title']} {document['text']}" if document["title"] else document["text"]
            lengths.append(len(text))
            hashes.append(hash(text))
    return np.array(lengths), np.array(hashes)


def expected_chunks(lengths: np.ndarray, hashes: np.ndarray, chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Place of each document, longest first and then by id in byte order, and its chunk: distinct texts go round in turn."""
    names = np.arange(len(lengths)).astype("S")
    order = np.lexsort((names, -lengths))
    place = np.argsort(order)
    _, first, text = np.unique(hashes[order], return_index=True, return_inverse=True)
    turn = np.argsort(np.argsort(first))
    return place, (turn[text] % chunks)[place]
