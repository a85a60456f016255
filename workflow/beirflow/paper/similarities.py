"""Two similarities of the same vectors, the experiment of appendix D of the BEIR paper.

``docs/files.md`` describes ``similarities.csv``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from beirflow.files.csv_files import read_named_csv, write_csv
from beirflow.paper.evidence import NDCG, read_scores
from beirflow.paper.facts import load_facts

COLUMNS = ("dataset", "cosine", "dot", "cosine_ndcg", "dot_ndcg", "difference", "printed", "cosine_words", "dot_words")


def compare_similarities(
    *, means_paths: Sequence[str], medians_path: str, pairs: Sequence[Sequence[str]], table_path: str
) -> None:
    """Write the table of ``pairs``, each the system with the cosine and the one with the dot product.

    Raise DataError if a file was changed after it was written, or belongs elsewhere.
    """
    facts, medians = load_facts(), read_named_csv(medians_path)
    scores, printed = read_scores(means_paths, NDCG, facts).values, facts.findings["appendix D, scores"]["numbers"]
    words = dict(zip(zip(medians["of"], medians["dataset"], strict=True), medians["median"], strict=True))
    rows = []
    for pair in pairs:
        for dataset in dict.fromkeys(name for system, name in scores if system in pair):
            (cosine, dot), lengths = ([of[system, dataset] for system in pair] for of in (scores, words))
            rows.append((dataset, *pair, cosine, dot, dot - cosine, printed.get(dataset, np.nan) / 100, *lengths))
    write_csv(pd.DataFrame(rows, columns=list(COLUMNS)), table_path)
