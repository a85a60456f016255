"""The confusion matrix, beside scikit-learn's of every document's labels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix

from beir_writer import write_corpus_record
from beirflow.core.errors import DataError
from beirflow.core.records import Job
from beirflow.data.corpus_files import RELEVANT_FROM
from beirflow.extensions.confusion.confusion import COLUMNS, tabulate_confusion
from results_writer import write_metrics, write_run

DOCUMENTS = [f"d{number}" for number in range(9)]
QRELS = {"p": {"d0": 2, "d1": 0, "d8": 1}, "q": {"d3": 1}, "none": {"d2": 1}}
RUN = {"p": ["d8", "d1", "d4", "d0"], "q": ["d5", "d6"], "unjudged": ["d1"]}
CUTOFFS = (1, 3, 5)


def table(folder: Path, *, changed: bool = False, relevant_from: int = 1) -> pd.DataFrame:
    (folder / "small").mkdir()
    judged = [(query, document, grade) for query, grades in QRELS.items() for document, grade in grades.items()]
    columns = dict(zip(("query_id", "doc_id", "score"), map(list, zip(*judged, strict=True)), strict=True))
    qrels = pa.table({**columns, "score": pa.array(columns["score"], pa.int32())})
    qrels = qrels.replace_schema_metadata({RELEVANT_FROM: str(relevant_from)})
    pq.write_table(qrels, folder / "small/qrels.parquet")
    write_corpus_record(folder / "small", folder)
    run = folder / "runs/x/small.parquet"
    inputs = {"inputs": {run: write_run(run, RUN)}, "counts": {"documents": len(DOCUMENTS)}}
    means, _ = write_metrics(folder, "x", "small", {"NDCG@1": [0.0] * 3}, **inputs)
    if changed:
        pq.write_table(pq.read_table(run).slice(1), run)
    tabulate_confusion(
        means_paths=[means],
        run_paths=[str(run)],
        qrels_paths=[str(folder / "small/qrels.parquet")],
        corpora=["small"],
        rows={"small": ["small"], "both": ["small", "small"]},
        cutoffs=CUTOFFS,
        confusion_path=str(folder / "confusion.csv"),
        job=Job(folder),
    )
    return pd.read_csv(folder / "confusion.csv").set_index(["system", "dataset", "k"])


@pytest.mark.parametrize("relevant_from", [1, 2])
def test_the_matrix_is_that_of_a_classifier_that_takes_the_first_k_for_relevant(tmp_path: Path, relevant_from: int) -> None:
    found = table(tmp_path, relevant_from=relevant_from)
    for k in CUTOFFS:
        of_queries = []
        for query, grades in QRELS.items():
            truth = [grades.get(document, 0) >= relevant_from for document in DOCUMENTS]
            taken = [document in RUN.get(query, [])[:k] for document in DOCUMENTS]
            (tn, fp), (fn, tp) = confusion_matrix(truth, taken, labels=[False, True])
            of_queries.append((tp, fp, fn, tn, accuracy_score(truth, taken)))
        for dataset in ("small", "both"):
            assert found.loc[("x", dataset, k), list(COLUMNS)].tolist() == pytest.approx(np.mean(of_queries, axis=0).tolist())


def test_a_run_that_was_changed_after_its_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="sha256"):
        table(tmp_path, changed=True)
