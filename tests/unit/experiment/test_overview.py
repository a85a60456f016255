"""The targets that a run without one tells."""

from pathlib import Path
from typing import Any

import pytest
from beirflow.experiment.load import load_experiment
from beirflow.experiment.overview import overview


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"systems": ["bm25"], "datasets": ["scifact"]}, "1 system (bm25) and 1 dataset (scifact)"),
        ({"systems": ["bm25", "contriever"], "datasets": "all"}, "2 systems (bm25, contriever) and 15 datasets (msmarco, "),
    ],
)
def test_the_configuration_and_the_targets_are_told_in_ten_lines(config: dict[str, Any], says: str) -> None:
    text = overview(experiment=load_experiment(config), results=Path("results"), configured=" --configfile my.yaml")
    lines = text.splitlines()
    assert says in lines[0]
    assert len(lines) <= 10
    assert lines[1] == "  snakemake --cores all --configfile my.yaml -- summary"
    names = [line.split()[0] for line in lines[2:-1]]
    assert names[:4] == ["estimate", "summary", "report", "paper"]
    assert all(len(line) <= 100 for line in lines[2:])


def test_more_datasets_than_can_be_read_are_counted() -> None:
    experiment = load_experiment({"systems": ["bm25"], "datasets": "all"})
    assert " and 10 others)" in overview(experiment=experiment, results=Path("results"))
