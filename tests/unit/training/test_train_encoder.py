"""An encoder is trained: what comes of it, that an interruption changes nothing, what is refused."""

from pathlib import Path

import pytest
from beirflow.models.load import load_encoder
from beirflow.models.model_files import check_model, next_to_record
from beirflow.files.layout import TRAINED_MODEL_RECORD
from beirflow.training.settings import Training
from tiny_expanders import save_tiny_t5
from training_results import TrainingResults
from workflow_runs import words

CORPUS = [(f"d{i:02}", words(i, i % 3), words(50 + i, 3 + 5 * i % 17)) for i in range(24)] + [("empty", "", " ")]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_t5(tmp_path_factory.mktemp("models") / "t5"))


def test_slice(tmp_path, generator, tiny_bert):
    made = TrainingResults(tmp_path, CORPUS, tiny_bert, Training(generator, queries=3, query_length=8, batch=8, learning_rate=1e-3))
    made.write()
    folder = made.train()
    record = made.trained()
    import json
    print(json.dumps({k: v for k, v in record.items() if k not in ("card", "outputs")}, indent=1))
    where = made.of_system(TRAINED_MODEL_RECORD)
    settings = next_to_record(made.encoder.__class__("trained", pooling="mean"), where)
    check_model(settings, where)
    enc = load_encoder(settings, "documents", device="cpu", precision="float32", token_budget="auto")
    assert 0
