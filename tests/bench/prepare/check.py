"""Compare our documents with those that beir loads: the same ids with the same texts, longest first.

python -m bench.prepare.check INPUT OURS
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.child import report
from bench.prepare.peer_beir import load_sorted


def our_lengths(documents: Path, expected: dict[str, str]) -> np.ndarray:
    """Lengths of all texts, after a look at each; texts that were found are taken out of ``expected``."""
    lengths = []
    file = pq.ParquetFile(documents)
    for chunk in range(file.num_row_groups):
        table = file.read_row_group(chunk)
        of_chunk = pc.utf8_length(table["text"]).to_numpy()
        if (np.diff(of_chunk) > 0).any():
            sys.exit(f"chunk {chunk} is not sorted by length")
        for doc_id, text in zip(table["doc_id"].to_pylist(), table["text"].to_pylist(), strict=True):
            if expected.pop(doc_id, None) != text:
                sys.exit(f"document {doc_id!r} has another text, or stands twice, or is not in the corpus")
        lengths.append(of_chunk)
    return np.sort(np.concatenate(lengths))


def main(source: str, ours: Path) -> None:
    """Compare, and say what was compared."""
    ids, documents = load_sorted(source)
    texts = [f"{document['title']} {document['text']}" if document["title"] else document["text"] for document in documents]
    expected_lengths = np.sort([len(text) for text in texts])
    left = dict(zip(ids, texts, strict=True))
    lengths = our_lengths(ours / "documents.parquet", left)
    if left or not np.array_equal(lengths, expected_lengths):
        sys.exit(f"{len(left)} documents are missing, or lengths differ")
    report(agree=f"the same {len(ids):,} ids and texts as beir loads, sorted by length")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
