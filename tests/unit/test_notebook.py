"""The notebook of the documentation, cell by cell, on scores that are made up."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs/scores.ipynb"
VALUES = {
    ("bm25", "one"): (0.5, 0.25, 1.0),
    ("dense", "one"): (0.75, 0.25, 0.5),
    ("bm25", "two"): (0.0, 0.5),
    ("dense", "two"): (1, 0.25),
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [
        {"system": system, "dataset": dataset, "query_id": f"q{number}", "measure": measure, "value": float(value)}
        for (system, dataset), values in VALUES.items()
        for measure in ("NDCG@10", "P@10")
        for number, value in enumerate(values)
    ]
    names = ["system", "dataset", "query_id", "measure"]
    pd.DataFrame(rows).astype(dict.fromkeys(names, "category")).to_parquet(tmp_path / "scores.parquet")
    for dataset, count in (("one", 3), ("two", 2)):
        folder = tmp_path / "corpora" / dataset
        folder.mkdir(parents=True)
        texts = {"query_id": [f"q{n}" for n in range(count)], "text": [f"{dataset}, query {n}" for n in range(count)]}
        pd.DataFrame(texts).to_parquet(folder / "queries.parquet")
    return tmp_path


def test_every_cell_of_the_notebook_runs(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEIRFLOW_RESULTS", str(results))
    mpl.use("Agg")
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    for cell in cells:
        exec("".join(cell["source"]), names)  # noqa: S102  # our own
    assert names["means"].loc["mean"].to_dict() == pytest.approx({"bm25": (1.75 / 3 + 0.25) / 2, "dense": (1.5 / 3 + 0.625) / 2})
    assert names["most"]["difference"].tolist()[0] == 1.0
    compared = names["pairs"].groupby(level="dataset", observed=True).apply(names["compared"])
    assert compared[["wins", "ties", "losses"]].to_numpy().tolist() == [[1, 1, 1], [1, 0, 1]]
