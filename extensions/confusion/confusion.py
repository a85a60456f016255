"""The confusion matrix of retrieval: the first k documents against all others, relevant or not.

The README describes ``confusion.csv``.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from beirflow.core.csv_files import write_csv
from beirflow.core.records import Job, read_json
from beirflow.data.corpus_files import read_table
from beirflow.ranking.judged_ranking import make_ranking
from beirflow.ranking.run_file import read_run

COLUMNS = ("TP", "FP", "FN", "TN", "accuracy")


def tabulate_confusion(
    *,
    means_paths: Sequence[str],
    run_paths: Sequence[str],
    qrels_paths: Sequence[str],
    corpora: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    cutoffs: Sequence[int],
    confusion_path: str,
    job: Job,
) -> None:
    """Write ``confusion.csv`` from the means and the runs of every system on every corpus, both in the same order.

    ``qrels_paths`` are in the order of ``corpora``; ``rows`` has the corpora of every dataset. Raise DataError if a file is not
    the one that was evaluated.
    """
    qrels = {name: read_table(path) for name, path in zip(corpora, qrels_paths, strict=True)}
    of_pair: dict[tuple[str, str], pd.DataFrame] = {}
    for means_path, run_path in zip(means_paths, run_paths, strict=True):
        means = read_json(means_path)
        run = read_run(run_path, means["inputs"][job.below(run_path)], means_path)
        matrix = confusion(run, qrels[means["dataset"]], means["counts"]["documents"], cutoffs)
        of_pair[means["system"], means["dataset"]] = matrix
    tables = {
        (system, row): pd.concat([of_pair[system, name] for name in names]).groupby(level="k", sort=False).mean()
        for system in dict.fromkeys(system for system, _ in of_pair)
        for row, names in rows.items()
    }
    write_csv(pd.concat(tables, names=["system", "dataset"]).reset_index(), confusion_path)


def confusion(run: pa.Table, qrels: pa.Table, documents: int, cutoffs: Sequence[int]) -> pd.DataFrame:
    """Return the means over judged queries of one run on a corpus of so many documents: a row a ``k``."""
    ranking = make_ranking(run, qrels, cutoffs)
    rows = {}
    for k in cutoffs:
        hits = ranking.hits(k)
        false_positives = ranking.retrieved[:, :k].sum(axis=1) - hits
        missed = ranking.relevant - hits
        others = documents - hits - false_positives - missed
        rows[k] = [np.mean(each) for each in (hits, false_positives, missed, others, (hits + others) / documents)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS)).rename_axis("k")
