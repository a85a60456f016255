"""Train an encoder for one dataset on its generated queries, and record how."""

import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from beirflow.core.digests import file_digest
from beirflow.core.errors import ConfigError, ModelError
from beirflow.core.layout import record_of
from beirflow.core.records import Job, read_json, write_record
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import recorded_digest
from beirflow.extensions.genq.checkpoint import Checkpoint
from beirflow.extensions.genq.pairs import Pairs, read_pairs
from beirflow.extensions.genq.problems import card_problem
from beirflow.extensions.genq.settings import Training
from beirflow.extensions.genq.steps import train
from beirflow.extensions.genq.trainee import Trainee
from beirflow.models.card_files import read_card
from beirflow.models.card_modules import MODEL_CONFIG
from beirflow.models.computing.made import made_with
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_layout import weight_files
from beirflow.models.model_places import model_folder
from beirflow.models.settings import EncoderSettings
from beirflow.ranking.searched import check_one_source

CURVE_POINTS = 100  # of the losses in the record: means over as many equal parts of the steps


def train_encoder(
    *,
    base: Computing[EncoderSettings],
    similarity: str | None,
    training: Training,
    documents_path: str,
    query_paths: Sequence[str],
    output_path: str,
    record_path: str,
    job: Job,
) -> None:
    """Train an encoder; the steps of an interrupted job are kept.

    ``query_paths`` are the written queries of each chunk. ``output_path`` is the folder to write: the files of the encoder, with
    other weights; until it is done, the ``Checkpoint`` is next to it. Raises ConfigError for too
    few pairs for a batch; ModelError for a model that cannot be loaded or trained, or a loss that is not finite; DeviceError for
    a GPU that fails or has too little memory; DataError for a file that is not the recorded one, or queries from several versions
    of their file.
    """
    base.use_threads()
    settings, model_record = base.settings, read_json(base.model_path)
    records = {job.below(record_of(path)): read_json(record_of(path)) for path in query_paths}
    check_one_source(records, {Path(path).parent for path in query_paths})
    inputs = _inputs(base.model_path, documents_path, query_paths)
    pairs = read_pairs(documents_path, query_paths, settings.title_separator, job)
    by_epoch = [pairs.batches(training.batch, training.seed, epoch) for epoch in range(training.epochs)]
    batches = [batch for batches in by_epoch for batch in batches]
    if not batches:
        raise ConfigError(_too_few(pairs, training, job))
    with base.gpu(saves_memory="lower train.batch or train.max_length"):
        start = time.perf_counter()
        folder = model_folder(settings)
        if problem := card_problem(folder):
            raise ModelError(f"system {settings.name}: {problem}")
        with checked_meanwhile(partial(check_model, settings, base.model_path)):
            how: dict[str, Any] = {"device": base.device, "precision": base.precision, "max_length": training.max_length}
            trainee = Trainee(settings, folder, similarity, **how)
        texts = trainee.tokens(pairs.queries, "queries"), trainee.tokens(pairs.texts, "documents")
        loaded = time.perf_counter() - start
        made_from = {
            "inputs": job.digests(inputs),
            "settings": [asdict(settings), similarity, asdict(training)],
            "code": job.code,
        }
        checkpoint = Checkpoint(f"{output_path}.pt", made_from | {"precision": trainee.precision})
        train(trainee, texts, pairs.documents, batches, training, checkpoint, job.name)
        with atomic_path(output_path) as partial_folder:
            partial_folder.mkdir()
            _write_model(trainee, folder, model_record["files"], settings.weights, partial_folder)
        made = {"training_precision": trainee.precision, **made_with(trainee.device)}
    outputs = {path: file_digest(path) for path in sorted(Path(output_path).rglob("*")) if path.is_file()}
    write_record(
        record_path,
        job,
        inputs=inputs,
        outputs=outputs,
        made=made,
        seconds={
            "load": loaded,
            "expand": sum(sum(record["seconds"].values()) for record in records.values()),
            "train": checkpoint.seconds,
        },
        sizes={"train": sum(path.stat().st_size for path in outputs)},
        counts=_counts(pairs, training, len(batches), records.values()),
        system=settings.name,
        model=model_record["model"],
        revision=model_record["revision"],
        files={path.relative_to(output_path).as_posix(): digest for path, digest in outputs.items()},
        card=read_card(Path(output_path)).as_json(),
        train=asdict(training),
        training={"similarity": trainee.similarity, "losses": curve(checkpoint.losses)},
    )
    checkpoint.path.unlink(missing_ok=True)


def curve(losses: Sequence[float], points: int = CURVE_POINTS) -> list[float]:
    """Return the means of the losses over at most ``points`` equal parts of the steps."""
    return [float(part.mean()) for part in np.array_split(np.array(losses), min(points, len(losses)))]


def _inputs(model_path: str, documents_path: str, query_paths: Sequence[str]) -> dict[str | Path, str]:
    files = [model_path, *query_paths, *(str(record_of(path)) for path in query_paths)]
    return {documents_path: recorded_digest(documents_path), **{path: file_digest(path) for path in files}}


def _counts(pairs: Pairs, training: Training, steps: int, records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Count the pairs and steps of the training, and the queries of its records that were empty."""
    return {
        "training_documents": len(pairs.doc_ids),
        "training_pairs": len(pairs.queries),
        "training_steps": steps,
        "pairs_left_out": training.epochs * len(pairs.queries) - steps * training.batch,
        "empty_queries": sum(record["counts"].get("empty_queries", 0) for record in records),
    }


def _too_few(pairs: Pairs, training: Training, job: Job) -> str:
    problem = f"{job.name}: {len(pairs.queries):,} queries were written for {len(pairs.doc_ids):,} documents"
    reason = f"too few for one batch of {training.batch} pairs without repeated texts"
    return f"{problem}, {reason}; lower train.batch, or raise train.documents"


def _write_model(trainee: Trainee, base: Path, names: Mapping[str, str], weights: str, folder: Path) -> None:
    """Copy the files of the original encoder, and save the trained weights instead of its own."""
    old = {path.relative_to(base).as_posix() for path in weight_files(base / trainee.place, weights)}
    index = (Path(trainee.place) / f"{weights}.index.json").as_posix()
    for name in names:
        if name not in old | {index}:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(base / name, folder / name)
    here = folder / trainee.place
    here.mkdir(parents=True, exist_ok=True)
    # save_pretrained writes a config.json of its own.
    kept = {path: path.read_bytes() for path in here.glob("*.json")}
    trainee.model.save_pretrained(here)
    for path, content in kept.items():
        path.write_bytes(content)  # what the model was, and not how it was loaded
    for path in here.glob("*.safetensors"):
        shutil.copymode(here / MODEL_CONFIG, path)  # a library that writes it for its user alone
