"""Compare some queries of the run with brute force over the words that were drawn, which no index has seen.

python -m bench.bm25_msmarco.check FOLDER K DOCUMENTS CHUNKS QUERIES WORDS
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from beirflow.files.records import read_json
from beirflow.lexical.bm25 import FieldStatistics, inverse_norms, length_codes, scores, weights
from beirflow.lexical.settings import LexicalSettings
from beirflow.postings.analyzer import STOP_WORDS, analyze

from bench.bm25_msmarco.inputs import chunk_ids, drawn, queries, vocabulary
from bench.bm25_msmarco.ours import SYSTEM, Files
from bench.child import report

SAMPLE = 4


class Occurrences:
    """Where the terms of the sample occur.

    Args:
        known: The vocabulary.
        terms: The terms.
        documents: Documents of the corpus.
        chunks: Number of chunks.

    Attributes:
        lengths: Terms of each document, by its id, int64 of shape (documents,).
        found: For each term the documents that have it and how often.
    """

    def __init__(self, known: list[str], terms: list[str], documents: int, chunks: int) -> None:
        first = len(STOP_WORDS)  # stop words are the first words, and no others
        stems = analyze(" ".join(known))
        code_of = {term: code for code, term in enumerate(terms)}
        codes = np.array([-1] * first + [code_of.get(stem, -1) for stem in stems])
        if len(codes) != len(known):
            sys.exit(f"{len(known) - first} words, but {len(stems)} terms")
        self.lengths = np.zeros(documents, np.int64)
        parts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in terms]
        for chunk in range(chunks):
            ids = chunk_ids(documents, chunks, chunk)
            _, words, ranks = drawn(known, documents, chunks, chunk)
            document = np.repeat(ids, words)
            self.lengths += np.bincount(document[ranks >= first], minlength=documents)
            code = codes[ranks]
            for number, part in enumerate(parts):
                part.append(np.unique(document[code == number], return_counts=True))
        self.found = [tuple(np.concatenate(columns) for columns in zip(*part, strict=True)) for part in parts]


def brute_force(query: str, terms: list[str], where: Occurrences, k: int) -> list[tuple[str, float]]:
    """The k best documents of a query, of tied ones those with the first ids; ranked by score and then id, both descending."""
    settings = LexicalSettings(SYSTEM)
    field = FieldStatistics(int((where.lengths > 0).sum()), int(where.lengths.sum()))
    norms = inverse_norms(field, settings.k1, settings.b)[length_codes(where.lengths)]
    sums = np.zeros(len(where.lengths))
    for term, boost in sorted(Counter(analyze(query)).items()):
        ids, counts = where.found[terms.index(term)]
        if len(ids):
            weight = weights(np.array([len(ids)]), np.array([boost]), field.documents)
            sums[ids] += scores(np.repeat(weight, len(ids)), counts, norms[ids])
    values = sums.astype(np.float32)
    positive = np.flatnonzero(values > 0)
    least = np.sort(values[positive])[-min(k, len(positive)) :][:1]
    near = positive[values[positive] >= least] if len(least) else positive
    kept = sorted(((str(i), float(values[i])) for i in near.tolist()), key=lambda hit: (-hit[1], hit[0].encode()))[:k]
    return sorted(kept, key=lambda hit: (hit[1], hit[0].encode()), reverse=True)


def main(folder: Path, k: int, documents: int, chunks: int, count: int, size: int) -> None:
    """Compare, and say what was compared."""
    known, files = vocabulary(size), Files(folder, chunks)
    texts = queries(known, count).to_pylist()
    sample = np.unique(np.linspace(0, count - 1, SAMPLE).astype(int)).tolist()
    terms = sorted({term for number in sample for term in analyze(texts[number])})
    where = Occurrences(known, terms, documents, chunks)
    run = pq.read_table(files.run)
    for number in sample:
        part = run.filter(pq.filters_to_expression([("query_id", "==", f"q{number}")])).sort_by("rank").to_pydict()
        if list(zip(part["doc_id"], part["score"], strict=True)) != brute_force(texts[number], terms, where, k):
            sys.exit(f"query {number}, {texts[number]!r}, has another ranking than by brute force")
    found = read_json(Path(files.statistics).with_suffix(".json"))["statistics"]["terms"]
    corpus = f"{documents:,} documents, {found:,} different terms"
    report(agree=f"{corpus}, {run.num_rows:,} rows; {len(sample)} queries are those of brute force")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
