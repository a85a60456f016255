"""The overlap of domains: weighted Jaccard similarity of the words of every two datasets, figure 2 of the BEIR paper.

Words with one first byte are in memory at a time, of all datasets. ``README.md`` describes ``overlap.csv``.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.csv_files import write_csv
from beirflow.core.records import output_digest, read_json
from beirflow.core.verified import check_digest
from beirflow.extensions.beir_paper.statistics import read_words

BLOCK = 1 << 16  # words compared at once, of 8 bytes each for every dataset

COLUMNS = ("dataset_a", "dataset_b", "similarity")


def measure_overlap(
    *, words_paths: Sequence[str], statistics_paths: Sequence[str], rows: Mapping[str, Sequence[str]], overlap_path: str
) -> None:
    """Write ``overlap.csv`` from the words of every corpus and their records; ``rows`` has the corpora of every dataset.

    Raise DataError if words are not those that were recorded.
    """
    statistics = [read_json(path) for path in statistics_paths]
    for path, record, record_path in zip(words_paths, statistics, statistics_paths, strict=True):
        check_digest(path, output_digest(record, path), record_path)
    totals = {record["dataset"]: record["counts"]["words"] for record in statistics}
    row_of = {name: place for place, names in enumerate(rows.values()) for name in names}
    places = np.array([row_of[record["dataset"]] for record in statistics])
    of_row = np.array([sum(totals[name] for name in names) for names in rows.values()], np.float64)
    smaller = np.zeros((len(rows), len(rows)))
    for words in _side_by_side(words_paths, places, len(rows)):
        # A dataset without words has frequencies of 0, and no similarity below.
        frequencies = words / np.maximum(of_row, 1)[:, None]
        for place, own in enumerate(frequencies):
            smaller[place] += np.minimum(own, frequencies).sum(axis=1)
    pairs = [
        (a, b, smaller[i, j] / (2 - smaller[i, j]) if of_row[i] and of_row[j] else np.nan)
        for (i, a), (j, b) in combinations(enumerate(rows), 2)
    ]
    write_csv(pd.DataFrame(pairs, columns=list(COLUMNS)), overlap_path)


def _side_by_side(words_paths: Sequence[str], places: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    """Yield the counts of the same words in all datasets, float64 of shape (rows, words), in the order of the words.

    ``places`` has the number of the dataset of every corpus, int64.
    """
    files = [read_words(path) for path in words_paths]
    heads = [next(file, None) for file in files]
    while firsts := [head[0] for head in heads if head]:
        # Files have a part for each first byte; those with the least one come first.
        current = [number for number, head in enumerate(heads) if head and head[0] == min(firsts)]
        parts = [head[1] for number, head in enumerate(heads) if head and number in current]
        different = pc.unique(pa.chunked_array([chunk for part in parts for chunk in part["word"].chunks]))
        different = different.take(pc.sort_indices(different))
        codes = [pc.index_in(part["word"], value_set=different).to_numpy() for part in parts]
        for start in range(0, len(different), BLOCK):
            block = np.zeros((rows, min(BLOCK, len(different) - start)))
            for number, part, code in zip(current, parts, codes, strict=True):
                inside = (code >= start) & (code < start + BLOCK)
                block[places[number], code[inside] - start] += part["count"].to_numpy()[inside]
            yield block
        for number in current:
            heads[number] = next(files[number], None)
