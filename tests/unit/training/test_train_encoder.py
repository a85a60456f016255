"""An encoder is trained: what comes of it, that chunks and interruptions change nothing, what is refused."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from beirflow.encoders.load import load_encoder
from beirflow.expansions.sampler import drawn
from beirflow.files.errors import ConfigError, ModelError
from beirflow.files.layout import EXPANSION_RECORD, MODEL, TRAINED_MODEL, TRAINED_MODEL_RECORD, TRAINING_CHECKPOINT
from beirflow.files.records import read_json
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings
from beirflow.training import checkpoint, steps
from beirflow.training.settings import Training
from beirflow.training.train_encoder import curve
from tiny_expanders import save_tiny_t5
from training_results import TrainingResults
from workflow_runs import words

CORPUS = [(f"d{i:02}", words(i, i % 3), words(50 + i, 3 + 5 * i % 17)) for i in range(24)] + [("empty", "", " ")]
pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_t5(tmp_path_factory.mktemp("models") / "t5"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, generator: str, tiny_bert: Path) -> TrainingResults:
    """A corpus in chunks whose queries are written; not to be changed."""
    made = results(tmp_path_factory.mktemp("written"), generator, tiny_bert, size=10)
    made.write()
    return made


def results(folder: Path, generator: str, base: Path, size: int = 1000, **training: Any) -> TrainingResults:
    given = {"queries": 3, "documents": 20, "query_length": 8, "batch": 8, "learning_rate": 1e-3, "seed": 3}
    return TrainingResults(folder, CORPUS, base, Training(generator, **given | training), size=size)


def copied(written: TrainingResults, folder: Path) -> TrainingResults:
    """A copy that may be changed."""
    copy = object.__new__(TrainingResults)
    copy.__dict__ |= written.__dict__ | {"results": Path(shutil.copytree(written.results, folder / "results"))}
    return copy


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(written: TrainingResults, tmp_path_factory: pytest.TempPathFactory) -> TrainingResults:
    made = copied(written, tmp_path_factory.mktemp("undisturbed"))
    made.train()
    return made


def test_the_record_says_from_what_and_how_it_was_trained(undisturbed: TrainingResults, tiny_bert: Path) -> None:
    made, record = undisturbed, undisturbed.trained()
    name = made.training.written.name
    queries = {f"expansions/{name}/small/chunk-{i}.{kind}" for i in range(3) for kind in ("parquet", "json")}
    assert set(record["inputs"]) == {"corpora/small/documents.parquet", "models/trained.json", *queries}
    assert set(record["outputs"]) == {f"models/trained/small/{file}" for file in record["files"]}
    assert set(record["files"]) == set(read_json(made.of_system(MODEL))["files"])
    counts = record["counts"]
    rows = [row for i in range(3) for row in pq.read_table(made.queries(i)).to_pylist()]
    asked = drawn(3, [row["doc_id"] for row in rows], 20)
    assert asked.sum() == 20 < len(rows) == len(CORPUS)
    assert not any(row["queries"] for row, was_asked in zip(rows, asked, strict=True) if not was_asked)
    assert counts["training_documents"] == sum(bool(row["queries"]) for row in rows)
    assert counts["training_pairs"] == sum(len(set(row["queries"])) for row in rows)
    assert counts["training_pairs"] == counts["training_steps"] * 8 + counts["pairs_left_out"]
    read = [read_json(made.path(EXPANSION_RECORD, expansion=name, chunk=i))["counts"] for i in range(3)]
    assert counts["empty_queries"] == sum(each["empty_queries"] for each in read)
    assert len(record["training"]["losses"]) == counts["training_steps"] > 4
    assert record["train"]["batch"] == 8
    assert record["made"]["training_precision"] == "float32"
    assert set(record["seconds"]) == {"load", "expand", "train"}
    assert not Path(made.of_system(TRAINING_CHECKPOINT)).exists()
    folder = Path(made.of_system(TRAINED_MODEL))
    assert {path.stat().st_mode for path in folder.iterdir()} == {Path(made.of_system(TRAINED_MODEL_RECORD)).stat().st_mode}


def test_the_trained_model_encodes_otherwise_than_the_one_that_it_began_as(undisturbed: TrainingResults, tiny_bert: Path) -> None:
    where = undisturbed.of_system(TRAINED_MODEL_RECORD)
    settings = next_to_record(EncoderSettings("trained", pooling="mean"), where)
    check_model(settings, where)
    on: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": "auto"}
    found, before = (load_encoder(each, "queries", **on) for each in (settings, undisturbed.encoder))
    texts = [words(i, 4) for i in range(3)]
    (_, one), (_, other) = (next(each.windows(texts, "queries")) for each in (found, before))
    assert one.shape == other.shape
    assert (np.abs(one - other).max(axis=1) > 1e-3).all()


def test_weights_do_not_depend_on_chunks(undisturbed: TrainingResults, generator: str, tiny_bert: Path, tmp_path: Path) -> None:
    whole = results(tmp_path, generator, tiny_bert)
    whole.write()
    assert weights(whole.train()) == weights(Path(undisturbed.of_system(TRAINED_MODEL)))


class EndedError(Exception):
    """What ends a job."""


@pytest.mark.parametrize("after", [1, 4])
def test_a_training_that_was_ended_comes_to_the_same_weights(
    written: TrainingResults, undisturbed: TrainingResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    made = copied(written, tmp_path)
    add, seen = checkpoint.Checkpoint.add, []

    def ending(self: checkpoint.Checkpoint, *arguments: Any) -> None:
        add(self, *arguments)
        seen.append(len(self.losses))
        if len(self.losses) == after:
            raise EndedError

    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    with monkeypatch.context() as context:
        context.setattr(checkpoint.Checkpoint, "add", ending)
        with pytest.raises(EndedError):
            made.train()
        assert Path(made.of_system(TRAINING_CHECKPOINT)).is_file()
        assert not Path(made.of_system(TRAINED_MODEL)).exists()
        after = 0
        torch.manual_seed(99)
        folder = made.train()
    assert seen == list(range(1, undisturbed.trained()["counts"]["training_steps"] + 1))
    assert weights(folder) == weights(Path(undisturbed.of_system(TRAINED_MODEL)))
    assert made.trained()["training"] == undisturbed.trained()["training"]


@pytest.mark.parametrize("kind", ["damaged", "of another training"])
def test_a_checkpoint_of_something_else_is_not_gone_on_from(
    written: TrainingResults, undisturbed: TrainingResults, tmp_path: Path, kind: str
) -> None:
    made = copied(written, tmp_path)
    path = Path(made.of_system(TRAINING_CHECKPOINT))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"PK\x03\x04 torn")
    if kind != "damaged":
        torch.save({"made_from_sha256": "0" * 64, "model": {}, "optimizer": {}, "losses": [0.0], "seconds": 0.0}, path)
    assert weights(made.train()) == weights(Path(undisturbed.of_system(TRAINED_MODEL)))


def test_too_few_pairs_for_a_batch_are_refused(written: TrainingResults, tmp_path: Path) -> None:
    made = copied(written, tmp_path)
    made.training = Training(**vars(written.training) | {"batch": 21})
    with pytest.raises(ConfigError, match=r"queries were written for \d+ documents, too few for one batch of 21 pairs"):
        made.train()
    assert not Path(made.of_system(TRAINED_MODEL)).parent.exists()


def test_a_loss_that_is_no_number_is_an_error(written: TrainingResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = copied(written, tmp_path)
    monkeypatch.setattr(steps, "rate", lambda *_: float("inf"))
    with pytest.raises(ModelError, match=r"the loss of step 2 of \d+ is nan.*lower train.learning_rate"):
        made.train()
    assert not Path(made.of_system(TRAINED_MODEL)).exists()


def test_the_curve_has_few_points() -> None:
    assert curve([3.0, 1.0, 2.0]) == [3.0, 1.0, 2.0]
    assert curve([4.0, 2.0, 1.0, 1.0], points=2) == [3.0, 1.0]
