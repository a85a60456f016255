"""An encoder is trained: what comes of it, that chunks and interruptions change nothing, what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from beirflow.core.errors import ConfigError, DataError, ModelError
from beirflow.core.layout import EXPANSION_RECORD, MODEL, MODEL_OF_DATASET, MODEL_OF_DATASET_RECORD
from beirflow.core.records import read_json
from beirflow.extensions.expansions.sampler import drawn
from beirflow.extensions.genq import checkpoint, steps
from beirflow.extensions.genq.layout import TRAINING_CHECKPOINT
from beirflow.extensions.genq.settings import Training
from beirflow.extensions.genq.train_encoder import curve
from beirflow.models.encoders.load import load_encoder
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings
from tiny_expanders import save_tiny_t5
from training_results import TrainingResults
from workflow_runs import words

Patch, Log = pytest.MonkeyPatch, pytest.LogCaptureFixture
CORPUS = [(f"d{i:02}", words(i, i % 3), words(50 + i, 3 + 5 * i % 17)) for i in range(24)] + [("empty", "", " ")]
pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> TrainingResults:
    """A corpus in chunks whose queries are written; not to be changed."""
    folder = tmp_path_factory.mktemp("written")
    of_training = {"queries": 3, "documents": 20, "query_length": 8, "batch": 8, "learning_rate": 1e-3, "seed": 3}
    made = TrainingResults(folder, CORPUS, tiny_bert, Training(str(save_tiny_t5(folder / "t5")), **of_training), size=10)
    made.write()
    return made


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(written: TrainingResults, tmp_path_factory: pytest.TempPathFactory) -> TrainingResults:
    made = written.copied(tmp_path_factory.mktemp("undisturbed"))
    made.train()
    return made


def test_the_record_says_from_what_and_how_it_was_trained(undisturbed: TrainingResults, tiny_bert: Path) -> None:
    made, record = undisturbed, undisturbed.trained()
    name = made.training.added.name
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
    folder = Path(made.of_system(MODEL_OF_DATASET))
    assert {path.stat().st_mode for path in folder.iterdir()} == {Path(made.of_system(MODEL_OF_DATASET_RECORD)).stat().st_mode}


def test_the_trained_model_encodes_otherwise_than_the_one_that_it_began_as(undisturbed: TrainingResults, tiny_bert: Path) -> None:
    where = undisturbed.of_system(MODEL_OF_DATASET_RECORD)
    settings = next_to_record(EncoderSettings("trained", pooling="mean"), where)
    check_model(settings, where)
    on: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": "auto"}
    found, before = (load_encoder(each, "queries", **on) for each in (settings, undisturbed.encoder))
    texts = [words(i, 4) for i in range(3)]
    one, other = (next(each.windows(texts, "queries")) for each in (found, before))
    assert one.shape == other.shape
    assert (np.abs(one - other).max(axis=1) > 1e-3).all()


def test_weights_do_not_depend_on_chunks(
    written: TrainingResults, undisturbed: TrainingResults, tiny_bert: Path, tmp_path: Path
) -> None:
    whole = TrainingResults(tmp_path, CORPUS, tiny_bert, written.training)
    whole.write()
    assert weights(whole.train()) == weights(Path(undisturbed.of_system(MODEL_OF_DATASET)))


class EndedError(Exception):
    """An error that ends a job."""


def interrupted(written: TrainingResults, folder: Path, monkeypatch: Patch, after: int) -> TrainingResults:
    """A copy in which a training was ended after some steps; checkpoints are written after every step from now on."""
    made, add = written.copied(folder), checkpoint.Checkpoint.add

    def ending(self: checkpoint.Checkpoint, *arguments: Any) -> None:
        add(self, *arguments)
        if len(self.losses) == after:
            raise EndedError

    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    with monkeypatch.context() as context:
        context.setattr(checkpoint.Checkpoint, "add", ending)
        with pytest.raises(EndedError):
            made.train()
    return made


@pytest.mark.parametrize("after", [1, 4])
def test_a_training_that_was_ended_comes_to_the_same_weights(
    written: TrainingResults, undisturbed: TrainingResults, tmp_path: Path, monkeypatch: Patch, after: int
) -> None:
    made = interrupted(written, tmp_path, monkeypatch, after)
    assert Path(made.of_system(TRAINING_CHECKPOINT)).is_file()
    assert not Path(made.of_system(MODEL_OF_DATASET)).exists()
    add, seen = checkpoint.Checkpoint.add, []

    def noting(self: checkpoint.Checkpoint, *arguments: Any) -> None:
        add(self, *arguments)
        seen.append(len(self.losses))

    monkeypatch.setattr(checkpoint.Checkpoint, "add", noting)
    torch.manual_seed(99)
    folder = made.train()
    assert seen == list(range(after + 1, undisturbed.trained()["counts"]["training_steps"] + 1))
    assert weights(folder) == weights(Path(undisturbed.of_system(MODEL_OF_DATASET)))
    assert made.trained()["training"] == undisturbed.trained()["training"]


@pytest.mark.parametrize("kind", ["torn", "of another training"])
def test_a_checkpoint_of_something_else_is_not_gone_on_from(
    written: TrainingResults, undisturbed: TrainingResults, tmp_path: Path, monkeypatch: Patch, kind: str, caplog: Log
) -> None:
    made = written.copied(tmp_path)
    path = Path(made.of_system(TRAINING_CHECKPOINT))
    path.parent.mkdir(exist_ok=True)
    if kind == "torn":
        path.write_bytes(b"PK\x03\x04 torn")
    else:
        other = written.copied(tmp_path / "other")
        other.training = replace(written.training, learning_rate=1e-2)
        shutil.copy(interrupted(other, tmp_path / "ended", monkeypatch, 2).of_system(TRAINING_CHECKPOINT), path)
    assert weights(made.train()) == weights(Path(undisturbed.of_system(MODEL_OF_DATASET)))
    assert f"{path}: " in caplog.text
    assert "that work is done again" in caplog.text


def refused(made: TrainingResults, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        made.train()
    assert not Path(made.of_system(MODEL_OF_DATASET)).exists()


def test_queries_from_two_versions_of_a_file_are_refused(written: TrainingResults, tmp_path: Path) -> None:
    made, source = written.copied(tmp_path), tmp_path / "given.jsonl"
    made.training = Training({"path": str(source)}, batch=8)
    for chunk in range(made.chunks):
        source.write_text("".join(json.dumps({"id": i, "queries": [f"w{min(chunk, 1)}"]}) + "\n" for i, *_ in CORPUS))
        made.read_given(made.training.added, source, chunk)
    refused(made, DataError, r"chunk-1\.json: read from a file .*chunk-0\.json .*run again: rm -r .*/expansions/.*/small$")


def test_too_few_pairs_for_a_batch_and_a_loss_that_is_no_number_are_refused(
    written: TrainingResults, tmp_path: Path, monkeypatch: Patch
) -> None:
    made = written.copied(tmp_path)
    made.training = replace(written.training, batch=21)
    refused(made, ConfigError, r"queries were written for \d+ documents, too few for one batch of 21 pairs")
    assert not Path(made.of_system(MODEL_OF_DATASET)).parent.exists()
    made.training = written.training
    monkeypatch.setattr(steps, "rate", lambda *_: float("inf"))
    refused(made, ModelError, r"the loss of step 2 of \d+ is nan.*lower train.learning_rate")


def test_the_curve_has_few_points() -> None:
    assert curve([3.0, 1.0, 2.0]) == [3.0, 1.0, 2.0]
    assert curve([4.0, 2.0, 1.0, 1.0], points=2) == [3.0, 1.0]
