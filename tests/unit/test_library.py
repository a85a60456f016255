"""The package as a library: what it offers, its documentation and its notebook, cell by cell, on results of the demo."""

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import beirflow
from results_maker import Made

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def beside_results(demo_results: Made, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which ``results`` is."""
    monkeypatch.chdir(demo_results.results.parent)
    return demo_results.results


def test_every_cell_of_the_notebook_runs(beside_results: Path) -> None:
    mpl.use("Agg")
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads((DOCS / "library.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    imported = [line for cell in cells for line in cell["source"] if line.startswith(("import ", "from "))]
    assert {line.split()[1].partition(".")[0] for line in imported} == {"beirflow", "pandas", "matplotlib", "itertools"}
    for cell in cells:
        exec("".join(cell["source"]), names)  # noqa: S102  # our own
    assert names["evaluation"].mean.to_dict() == pytest.approx(
        {"NDCG@10": (1 / np.log2(3) + 1) / 3, "MRR@10": (1 / 2 + 1) / 3, "Recall@2": (1 + 1) / 3}
    )
    assert names["found"].query("rank == 1")["document"].tolist() == ["bread", "tea"]
    expected = pd.read_csv("results/summary.csv").set_index(["system", "dataset"])["NDCG@10"]
    assert names["means"].loc["kitchen"].to_dict() == {name: expected[name, "kitchen"] for name in ("bm25", "bm25-multifield")}
    assert names["again"].mean["NDCG@10"] == expected["bm25", "kitchen"]
    assert names["difference"].mean() == pytest.approx(expected["bm25-multifield", "kitchen"] - expected["bm25", "kitchen"])
    found = {name: beirflow.Results().hits(name, "kitchen") for name in ("bm25", "bm25-multifield")}
    assert len(names["hits"]) == sum((hits["rank"] <= 3).sum() for hits in found.values())


def test_the_examples_of_the_documentation_are_right(beside_results: Path) -> None:
    failures, attempted = doctest.testfile(str(DOCS / "library.md"), module_relative=False)
    assert attempted > 10
    assert not failures


@pytest.mark.parametrize("name", ["", "evaluate", "search"])
def test_the_example_of_the_package_and_of_a_function_is_right(name: str) -> None:
    runner = doctest.DocTestRunner()
    described = getattr(beirflow, name) if name else beirflow
    for test in doctest.DocTestFinder(recurse=False).find(described, name, globs={"beirflow": beirflow}):
        assert runner.run(test).attempted
    assert runner.failures == 0


def test_the_package_alone_imports_nothing_heavy() -> None:
    heavy = "import sys, beirflow; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    alone = {**os.environ, "PYTHONPATH": str(Path(beirflow.__file__).parents[1])}
    found = subprocess.run([sys.executable, "-c", heavy], env=alone, check=True, capture_output=True, text=True).stdout
    assert not {"numpy", "pandas", "pyarrow", "torch", "snakemake"} & set(json.loads(found.replace("'", '"')))
