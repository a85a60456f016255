"""Two similarities of the same vectors: scores and lengths of both beside one another."""

from pathlib import Path

import pandas as pd
from beirflow.files.csv_files import read_named_csv
from beirflow.paper.similarities import compare_similarities
from results_writer import write_metrics


def test_both_similarities_of_a_dataset_are_in_one_row(tmp_path: Path) -> None:
    scores = {
        ("by-cosine", "nq"): 0.25,
        ("by-dot", "nq"): 0.5,
        ("other", "nq"): 0.75,
        ("by-cosine", "trec-covid"): 0.5,
        ("by-dot", "trec-covid"): 0.25,
    }
    paths = [write_metrics(tmp_path, system, name, {"NDCG@10": [value]})[0] for (system, name), value in scores.items()]
    of = [(name, system, 10.0 if system == "by-cosine" else 99.0) for system, name in scores]
    pd.DataFrame(of, columns=["dataset", "of", "median"]).to_csv(tmp_path / "medians.csv", index=False)
    table_path = str(tmp_path / "similarities.csv")
    arguments = {"means_paths": paths, "medians_path": str(tmp_path / "medians.csv"), "table_path": table_path}
    compare_similarities(**arguments, pairs=[["by-cosine", "by-dot"]])
    assert read_named_csv(table_path).fillna(0).values.tolist() == [
        ["nq", "by-cosine", "by-dot", 0.25, 0.5, 0.25, 0, 10, 99],
        ["trec-covid", "by-cosine", "by-dot", 0.5, 0.25, -0.25, 0.153, 10, 99],  # the text of the paper has this difference alone
    ]
    compare_similarities(**arguments, pairs=[])
    assert read_named_csv(table_path).empty
