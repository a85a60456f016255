"""A trained encoder is used as any other: its run says what the training took."""

from pathlib import Path

import numpy as np
import pytest

from answering import answered, scores_of, without_scores
from beirflow.core.csv_files import read_named_csv
from beirflow.core.layout import RUN, RUN_RECORD, SYSTEMS
from beirflow.evaluation.systems import describe_systems
from beirflow.extensions.genq.settings import Training
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.system import System
from lexical_results import DATASET, rows_of
from tiny_expanders import save_tiny_t5
from training_results import SYSTEM, TrainingResults
from workflow_runs import words

CORPUS = [(f"d{i:02}", words(i, i % 3), words(50 + i, 3 + 5 * i % 17)) for i in range(16)]
pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> TrainingResults:
    folder = tmp_path_factory.mktemp("trained")
    training = Training(str(save_tiny_t5(folder / "t5")), queries=2, documents=12, query_length=8, batch=6, learning_rate=1e-3)
    made = TrainingResults(folder, CORPUS, tiny_bert, training, size=9)
    made.write()
    made.train()
    made.search_trained()
    return made


def test_the_table_of_systems_has_model_and_losses_of_the_dataset(searched: TrainingResults) -> None:
    table = Path(searched.path(SYSTEMS))
    systems = {SYSTEM: {"family": "dense", "name": SYSTEM, "train": vars(searched.training)}}
    paths = [searched.path(RUN_RECORD, system=SYSTEM)]
    describe_systems(systems=systems, record_paths=paths, systems_path=str(table), job=searched.job("describe_systems"))
    values = read_named_csv(str(table)).set_index("setting")["value"]
    losses = [float(each) for each in values["training_loss"].split(", ")]
    assert losses == pytest.approx(searched.trained()["training"]["losses"], rel=1e-3)
    assert "batch 6" in values["train"]


def test_a_trained_system_that_is_asked_for_one_query_at_a_time_answers_what_its_run_says(searched: TrainingResults) -> None:
    answers = answered(searched.results, DATASET, [trained_system(searched)], searched.top_k)
    expected = rows_of(searched.path(RUN, system=SYSTEM))
    assert without_scores(answers) == without_scores(expected)
    np.testing.assert_allclose(scores_of(answers), scores_of(expected), rtol=1e-5)


def trained_system(made: TrainingResults) -> System:
    settings = DenseSettings(SYSTEM, made.encoder.model, pooling="mean", similarity="cosine", train=made.training)
    return System(SYSTEM, "dense", settings)
