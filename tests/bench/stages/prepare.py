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

import numpy as np

from bench.child import report

VOCABULARY, STREAM_WORDS, QUERIES, BLOCK = 6000, 2_000_000, 1000, 10_000
RARE = [f"{letters}{number}" for letters in ("абвгд", "àâçéè", 'so "\\/') for number in range(100)]
"""Words that are not ASCII, or hold what JSON escapes."""

MS_DOCUMENTS, MS_CHARACTERS = 8_841_823, 2_969_059_106
MS_MEAN, MS_SIGMA, MS_SHORTEST, MS_LONGEST = MS_CHARACTERS / MS_DOCUMENTS, 0.45, 3, 1669
MS_QUERIES, MS_JUDGEMENTS, MS_OTHER_QUERIES = 6980, 7437, 502_939
MS_BLOCK = 100_000


def inputs(folder: Path, *counts: int) -> None:
    """Write datasets in BEIR form from random words, a folder for each number of documents.

    Lengths are log-normal as in text collections; a tenth of the documents has no title, some words are not ASCII, some hold what
    JSON escapes, and some documents have the text of another.
    """
    for count in counts:
        rng = np.random.default_rng(count)
        write_lines(folder / str(count) / "corpus.jsonl", documents(rng, count))
        queries = [(f"query{number}", f"query {number}") for number in range(QUERIES)]
        rows = [f"query{number}\tdoc{rng.integers(count)}\t1" for number in range(QUERIES)]
        write_queries(folder / str(count), queries, "test", rows)


def msmarco_inputs(folder: Path, count: int) -> None:
    """Write a dataset of MS MARCO's shape: ids, lengths, queries and judgements of its dev split."""
    rng = np.random.default_rng(count)
    write_lines(folder / "corpus.jsonl", passages(rng, count))
    others = MS_OTHER_QUERIES * count // MS_DOCUMENTS
    ids = rng.permutation(1_200_000)[: MS_QUERIES + others].tolist()
    judged = rng.choice(count, MS_JUDGEMENTS, replace=count < MS_JUDGEMENTS).tolist()
    rows = [f"{ids[number % MS_QUERIES]}\t{document}\t1" for number, document in enumerate(judged)]
    write_queries(folder, [(str(name), f"query {name}") for name in ids], "dev", rows)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file of a new folder."""
    path.parent.mkdir(parents=True)
    with path.open("w") as stream:
        stream.writelines(lines)


def write_queries(folder: Path, queries: Iterable[tuple[str, str]], split: str, rows: Sequence[str]) -> None:
    """Write queries, and judgements as lines of id, id and score."""
    records = ({"_id": query_id, "text": text, "metadata": {}} for query_id, text in queries)
    (folder / "queries.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    write_lines(folder / f"qrels/{split}.tsv", (f"{row}\n" for row in ("query-id\tcorpus-id\tscore", *rows)))


def long_text(rng: np.random.Generator) -> str:
    """A text of words by Zipf's law, of which every document is a piece."""
    from bench.stages.texts import Writer, words

    writer = Writer(rng, [*words(rng, VOCABULARY), *RARE])
    return str(writer.write(writer.draw(STREAM_WORDS), np.array([STREAM_WORDS]))[0])


def documents(rng: np.random.Generator, count: int) -> Iterator[str]:
    """Lines of corpus.jsonl, a block of documents at a time."""
    text = long_text(rng)
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


def passages(rng: np.random.Generator, count: int) -> Iterator[str]:
    """Lines of corpus.jsonl as MS MARCO has them."""
    text = long_text(rng)
    for first in range(0, count, MS_BLOCK):
        size = min(MS_BLOCK, count - first)
        drawn = rng.lognormal(np.log(MS_MEAN) - MS_SIGMA**2 / 2, MS_SIGMA, size)
        lengths = np.clip(drawn, MS_SHORTEST, MS_LONGEST).astype(int)
        starts = rng.integers(0, len(text) - MS_LONGEST, size)
        for number, start, end in zip(range(first, first + size), starts.tolist(), (starts + lengths).tolist(), strict=True):
            yield f'{{"_id": "{number}", "title": "", "text": {json.dumps(text[start:end])}, "metadata": {{}}}}\n'


def ours(output: Path, source: Path, chunk_documents: int) -> None:
    """Run ``prepare_corpus``."""
    from beirflow.datasets.prepare import prepare_corpus
    from beirflow.files.records import Job
    from by_name import call

    (qrels,) = (source / "qrels").iterdir()
    call(
        prepare_corpus,
        source_path=str(source),
        forum=None,
        split=qrels.stem,
        chunks=-(-int(source.name) // chunk_documents),  # the folder is named after its number of documents
        expected={"documents": None, "queries": None, "files": {}},
        documents_path=str(output / "documents.parquet"),
        queries_path=str(output / "queries.parquet"),
        job=Job(output),
    )


def peer_beir(output: Path, source: Path) -> None:
    """Load a dataset and sort its corpus by length, as beir's exact search does before it encodes."""
    load_sorted(source)


def load_sorted(source: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Ids and documents, longest first; the two statements are those of beir.retrieval.search.dense.exact_search."""
    from beir.datasets.data_loader import GenericDataLoader

    corpus, _, _ = GenericDataLoader(str(source)).load(split="test")
    corpus_ids = sorted(
        corpus, key=lambda doc_id: len(corpus[doc_id].get("title", "") + corpus[doc_id].get("text", "")), reverse=True
    )
    return corpus_ids, [corpus[doc_id] for doc_id in corpus_ids]


def check(source: Path, output: Path) -> None:
    """Compare our documents with those that beir loads: the same ids with the same texts, longest first in each chunk."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    ids, records = load_sorted(source)
    texts = [f"{record['title']} {record['text']}" if record["title"] else record["text"] for record in records]
    file = pq.ParquetFile(output / "documents.parquet")
    chunks = [file.read_row_group(chunk) for chunk in range(file.num_row_groups)]
    if any((np.diff(pc.utf8_length(chunk["text"]).to_numpy()) > 0).any() for chunk in chunks):
        sys.exit("a chunk is not sorted by length")
    ours = [pair for chunk in chunks for pair in zip(chunk["doc_id"].to_pylist(), chunk["text"].to_pylist(), strict=True)]
    if len(ours) != len(ids) or dict(ours) != dict(zip(ids, texts, strict=True)):
        sys.exit(f"{len(ours)} documents, which are not the {len(ids)} with their texts that beir loads")
    report(agree=f"the same {len(ids):,} ids and texts as beir loads, sorted by length")


def msmarco_check(source: Path, output: Path, chunks: int) -> None:
    """Compare the documents with the corpus: every text under its id, sorted by length, dealt to the chunks in turn."""
    import pyarrow.parquet as pq

    lengths, hashes = read_passages(source / "corpus.jsonl")
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


def read_passages(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and hashes of the texts, by id, which is the number of the line."""
    lengths, hashes = [], []
    with path.open() as lines:
        for number, line in enumerate(lines):
            document = json.loads(line)
            if document["_id"] != str(number):
                sys.exit(f"line {number} has the id {document['_id']}")
            lengths.append(len(document["text"]))
            hashes.append(hash(document["text"]))
    return np.array(lengths), np.array(hashes)


def expected_chunks(lengths: np.ndarray, hashes: np.ndarray, chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Place of each document, longest first and then by id in byte order, and its chunk: distinct texts go round in turn."""
    names = np.arange(len(lengths)).astype("S")
    order = np.lexsort((names, -lengths))
    place = np.argsort(order)
    _, first, text = np.unique(hashes[order], return_index=True, return_inverse=True)
    turn = np.argsort(np.argsort(first))
    return place, (turn[text] % chunks)[place]
