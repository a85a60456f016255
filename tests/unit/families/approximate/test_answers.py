"""An approximate system that is asked for one query at a time answers what its run says."""

from pathlib import Path

import numpy as np
import pytest

from answering import answered, scores_of, without_scores
from approximate_results import KINDS
from beirflow.config.load import load_experiment
from beirflow.core.layout import RUN
from forger import Forger
from lexical_results import rows_of
from results_maker import Made, make_run, with_systems

pytest.importorskip("faiss")

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_run(results_once: Made, tmp_path: Path, kind: str) -> None:
    config = with_systems(results_once.config, {"own": KINDS[kind]})
    forger = Forger.of(Made(results_once.results, config), tmp_path)
    for name in load_experiment(config).chosen_systems[2:]:
        experiment = make_run(forger.results, config, name)
        systems = [experiment.systems[each] for each in (name, "second")]
        rows = answered(forger.results, "small", systems, 20)
        expected = rows_of(forger.results / RUN(system=name, dataset="small"))
        assert without_scores(rows) == without_scores(expected)
        np.testing.assert_allclose(scores_of(rows), scores_of(expected), rtol=1e-5)
