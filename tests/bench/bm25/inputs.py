"""Make a corpus as ``prepare_corpus`` would have left it, and the same texts as Anserini reads them.

    python -m bench.bm25.inputs FOLDER DOCUMENTS QUERIES

The corpus is one chunk, of documents of 180 words on average, longest first; queries have three to eight words of the same law.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from beir_writer import write_corpus_record
from beirflow.datasets.corpus_reader import DOCUMENTS

from bench.bm25.texts import Writer, words

WORDS, SIGMA, SHORTEST = 180, 0.4, 10
VOCABULARY = 500_000
BLOCK = 10_000


def write_queries(folder: Path, writer: Writer, rng: np.random.Generator, count: int) -> list[str]:
    """Write ``queries.parquet``, and give back the texts."""
    lengths = rng.integers(3, 9, count)
    texts = writer.write(writer.draw(int(lengths.sum())), lengths, plain=True)
    pq.write_table(pa.table({"query_id": [f"q{number}" for number in range(count)], "text": texts}), folder / "queries.parquet")
    return texts.to_pylist()


def write(folder: Path, documents: int, queries: int) -> None:
    """Write the input."""
    rng = np.random.default_rng((documents, queries))
    writer = Writer(rng, words(rng, VOCABULARY))
    (folder / "lucene").mkdir(parents=True)
    lengths = rng.lognormal(np.log(WORDS) - SIGMA**2 / 2, SIGMA, documents).astype(int)
    lengths = -np.sort(-np.maximum(lengths, SHORTEST))
    blocks = [lengths[start : start + BLOCK] for start in range(0, documents, BLOCK)]
    texts = pa.chunked_array([writer.write(writer.draw(int(block.sum())), block) for block in blocks])
    ids = [f"d{number}" for number in rng.permutation(documents)]
    table = pa.table([pa.array(ids), texts, pa.array(np.zeros(documents, np.int32))], schema=DOCUMENTS)
    pq.write_table(table, folder / "documents.parquet", row_group_size=documents, write_page_checksum=True)
    asked = write_queries(folder, writer, rng, queries)
    write_corpus_record(folder, folder.parent)
    with (folder / "lucene/corpus.jsonl").open("w") as stream:
        for doc_id, text in zip(ids, texts.to_pylist(), strict=True):
            stream.write(json.dumps({"_id": doc_id, "title": "", "text": text, "metadata": {}}) + "\n")
    (folder / "topics.tsv").write_text("".join(f"q{number}\t{text}\n" for number, text in enumerate(asked)))


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
