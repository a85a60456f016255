"""A dense system that is asked for one query at a time answers what its run says; variants answer from what they store."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from answering import answered, scores_of, without_scores
from beirflow.config.load import load_experiment
from beirflow.core.layout import RUN
from beirflow.families.dense import chunk
from beirflow.families.dense.chunk import Sizes
from forger import Forger
from lexical_results import rows_of
from results_maker import Made, make_run, with_systems

DATASET = "small"

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(autouse=True)
def little_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunk.SIZES, "cpu", Sizes(2, 3, 7, 4))


@pytest.mark.parametrize("name", ["tiny", "second"])
def test_answers_are_the_run(results_once: Made, name: str) -> None:
    experiment = load_experiment(results_once.config)
    found = answered(results_once.results, DATASET, [experiment.systems[name]], experiment.config["top_k"])
    expected = rows_of(results_once.results / RUN(system=name, dataset=DATASET))
    assert without_scores(found) == without_scores(expected)
    np.testing.assert_allclose(scores_of(found), scores_of(expected), rtol=1e-5)


@pytest.mark.parametrize(
    "own", [{"vectors": "int8"}, {"vectors": "binary"}, {"vectors": "float16", "dimensions": 8}, {"dimensions": 5}], ids=str
)
def test_answers_of_a_variant_are_its_run(results_once: Made, tmp_path: Path, own: dict[str, Any]) -> None:
    results = Forger.of(results_once, tmp_path).results
    config = with_systems(results_once.config, {"variant": {"variant_of": "second", **own}})
    experiment = make_run(results, config, "variant")
    found = answered(results, DATASET, [experiment.systems["variant"]], 20)
    expected = rows_of(results / RUN(system="variant", dataset=DATASET))
    np.testing.assert_allclose(scores_of(found), scores_of(expected), rtol=1e-2 if own.get("vectors") == "int8" else 1e-5)
    if own.get("vectors") != "int8":  # the last digit of a query may be on the other side of a step
        assert without_scores(found) == without_scores(expected)
