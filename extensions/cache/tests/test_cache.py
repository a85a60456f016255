"""A cache that a group shares: what one computed the others take, and nothing that is not what the model computes."""

import logging
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import ConfigError
from beirflow.core.layout import record_of
from beirflow.core.records import Job, read_json
from beirflow.extensions.cache import EXTENSION
from beirflow.families.dense.encode import encode_chunk, encode_queries
from beirflow.families.rerank.score_pairs import score_pairs
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.model_files import fetch_model
from beirflow.run.code_version import calls
from beirflow.run.rule_call import run_step
from beirflow.run.rule_job import Named, RuleJob
from cache_entries import (
    DAMAGED,
    change_fields,
    damage_content,
    damage_entry,
    files,
    lose_content,
    replace_content,
    silent_bucket,
)
from dense_results import ON_CPU, DenseResults
from faults_at_work import filled, small_disk
from run_results import DATASET, RunResults
from tiny_cross_encoder import save_cross_encoder

TEXTS = [f"w{number} w{number % 7} w{number % 5}" for number in range(20)]

pytestmark = pytest.mark.usefixtures("threads_as_before")


class User:
    """One who encodes a corpus into a results folder of their own, under a name of their own for the system."""

    def __init__(
        self, folder: Path, model: Path, cache: str | Path, name: str = "tiny", dataset: str = "some", **settings: Any
    ) -> None:
        self.here, self.cache, self.name = DenseResults(folder / "results", model, **settings), cache, name
        self.dataset = dataset
        self.here.write([TEXTS])
        self.here.write_queries(TEXTS[:3])

    def encode(self, chunk: int | None = 0, code: str = "", *, alone: bool = False) -> tuple[np.ndarray, dict[str, Any]]:
        """Encode the chunk or the queries as the rule does, or alone as an audit does; give vectors and record."""
        step, path = (encode_queries, self.here.path(chunk=None)) if chunk is None else (encode_chunk, self.here.path())
        wildcards = {"system": self.name, "dataset": self.dataset, **({} if chunk is None else {"chunk": str(chunk)})}
        names = ["queries"] if chunk is None else ["documents", "shared_texts", "shared_vectors"]
        inputs = {"model": [str(self.here.model)], "shared_texts": [], "shared_vectors": []}
        inputs |= {name: str(self.here.corpus(f"{name}.parquet")) for name in names[:1]}
        settings = {**asdict(self.here.system), "name": self.name}
        called = calls(f"beirflow.families.dense.encode:{step.name}")
        params = {**called, "code": code or called["code"], "settings": settings, "precision": "float32"}
        config = {**ON_CPU, "jobs_per_gpu": 1, "cache": str(self.cache)}
        outputs = Named([str(path), str(record_of(path))], {})
        rule = RuleJob(step.name, {name: inputs[name] for name in ("model", *names)}, outputs, params, wildcards, config, 1, [])
        run_step(step, rule, self.here.job, [] if alone else [EXTENSION.store])
        return self.here.vectors(chunk=chunk), self.here.record(chunk=chunk)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.fixture
def first(tmp_path: Path, tiny_bert: Path, cache: Path) -> User:
    """A user who has encoded the chunk."""
    user = User(tmp_path / "first", tiny_bert, cache)
    user.encode()
    return user


def test_a_second_user_takes_what_the_first_one_computed(
    tmp_path: Path, tiny_bert: Path, cache: Path, first: User, caplog: pytest.LogCaptureFixture
) -> None:
    copied = shutil.copytree(tiny_bert, tmp_path / "the same model elsewhere")
    other = User(tmp_path / "other", copied, cache, name="mine", dataset="the same texts")
    with caplog.at_level(logging.INFO):
        vectors, record = other.encode()
    assert vectors.tobytes() == first.here.vectors().tobytes()
    (entry,) = files(cache, "entry.json")
    assert record["taken"] == {"place": str(cache), "entry": entry.parent.name}
    assert record["system"] == "mine"
    same = {key: first.here.record()[key] for key in ("rows", "dim", "made", "counts", "seconds", "encoder")}
    assert {key: record[key] for key in same} == same
    assert record["outputs"] == first.here.record()["outputs"]
    assert "encode with mine: 8 of 8" in caplog.text  # the drawn sample


@pytest.mark.parametrize(
    ("settings", "code"), [({"max_length": 32}, ""), ({"document_prefix": "w1 "}, ""), ({}, "of-a-later-version")]
)
def test_other_settings_or_code_are_another_entry(
    tmp_path: Path, tiny_bert: Path, cache: Path, first: User, settings: dict[str, Any], code: str
) -> None:
    assert "taken" not in User(tmp_path / "other", tiny_bert, cache, **settings).encode(code=code)[1]
    assert len(files(cache, "entry.json")) == 2


def test_other_weights_and_other_texts_are_another_entry(tmp_path: Path, tiny_bert: Path, cache: Path, first: User) -> None:
    model = shutil.copytree(tiny_bert, tmp_path / "model")
    (model / "config.json").write_text((model / "config.json").read_text() + "\n")
    assert "taken" not in User(tmp_path / "a", model, cache).encode()[1]
    other = User(tmp_path / "b", tiny_bert, cache)
    other.here.write([[*TEXTS[1:], "w3"]])
    assert "taken" not in other.encode()[1]
    assert len(files(cache, "entry.json")) == 3


def replace_vectors(cache: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    replace_content(cache, lambda path: np.save(path, change(np.load(path))))


def forge(cache: Path) -> None:
    replace_vectors(cache, np.negative)


def shorten(cache: Path) -> None:
    replace_vectors(cache, lambda vectors: vectors[:1])


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (damage_content, "is damaged: its sha256 is"),
        (damage_entry, "entry.json is damaged"),
        (lose_content, "No such file or directory"),
        (forge, "what was drawn is 2.0e+00 of its length from what the model computes here, at most 1e-03 was expected"),
        (shorten, "so it is of other texts"),
        (partial(change_fields, inputs={"a": "b"}), "the entry has other facts than the step records"),
        (partial(change_fields, format=9), "the entry has other facts than the step records"),
        (partial(change_fields, encoder=None), "the entry has other facts than the step records"),
        (partial(change_fields, made=None), "the entry has other facts than the step records"),
        (partial(change_fields, rows=3), "the entry has numbers that are none, or are those of other texts"),
        (partial(change_fields, distinct_texts="many"), "the entry has numbers that are none, or are those of other texts"),
        (partial(change_fields, counts={"tokens": -1, "truncated_documents": 0}), "the entry has numbers that are none"),
        (partial(change_fields, counts={"tokens": 1}), "the entry has other counts than the step records"),
        (partial(change_fields, made={"precision": "int8"}), "computed in the precision int8, and float32 is used here"),
    ],
)
def test_what_is_not_sound_is_computed_again_with_a_warning(
    tmp_path: Path,
    tiny_bert: Path,
    cache: Path,
    first: User,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[Path], None],
    reason: str,
) -> None:
    spoil(cache)
    vectors, record = User(tmp_path / "other", tiny_bert, cache).encode()
    assert "taken" not in record
    assert vectors.tobytes() == first.here.vectors().tobytes()
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    (entry,) = files(cache, "entry.json")
    assert reason in warning.removeprefix(f"the cache {cache}: ")
    stays = f"unless its digest is wrong, the entry {entry.parent.name} stays: remove it to have it kept again"
    assert warning.endswith(f"; it is computed here; {stays}")
    # What is damaged is replaced, and what somebody wrote is not.
    assert ("taken" in User(tmp_path / "third", tiny_bert, cache).encode()[1]) == (spoil in DAMAGED)


def test_what_a_killed_writer_left_is_removed_after_a_day(tmp_path: Path, tiny_bert: Path, cache: Path, first: User) -> None:
    (entry,) = files(cache, "entry.json")
    old, new = (entry.with_name(f"entry.json.{digit * 16}") for digit in "01")
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    damage_entry(cache)
    User(tmp_path / "other", tiny_bert, cache).encode()
    assert (old.exists(), new.exists()) == (False, True)


def negate_scores(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(2, "score", pc.negate(table["score"])), path)


def score(folder: Path, model: Path, cache: Path, name: str, seed: int = 0, **settings: Any) -> tuple[pa.Table, dict[str, Any]]:
    """Score the pairs of a block under a name of the reranker's own; give them and their record."""
    documents = {f"d{number}": text for number, text in enumerate(TEXTS)}
    here = RunResults(
        folder, documents, {f"q{number}": TEXTS[number][:6] for number in range(4)}, chunk=9, qrels={"q0": {"d0": 1}}
    )
    order = np.random.default_rng(seed).permutation(len(TEXTS)).tolist()
    here.write_run("first", {f"q{number}": {f"d{i}": float(-rank) for rank, i in enumerate(order)} for number in range(4)})
    crossed, record = RerankSettings(name, str(model), first="first", depth=5, **settings), folder / layout.MODEL(system=name)
    fetch_model(system=crossed, configured=None, output_path=str(record), job=here.job)
    path = str(folder / layout.PAIRS(system=name, dataset=DATASET, block=0))
    inputs = {"first_run": here.paths("first")["run_path"], "queries": here.queries_path, "documents": here.documents_path}
    called = calls("beirflow.families.rerank.score_pairs:score_pairs")
    params = {**called, "scorer_code": None, "settings": asdict(crossed), "precision": "float32", "blocks": 1}
    wildcards = {"system": name, "dataset": DATASET, "block": "0"}
    config = {**ON_CPU, "jobs_per_gpu": 1, "cache": str(cache)}
    outputs = Named([path, str(record_of(path))], {"pairs": path})
    rule = RuleJob("score_pairs", {**inputs, "model": [str(record)]}, outputs, params, wildcards, config, 1, [])
    run_step(score_pairs, rule, Job(folder, f"score_pairs/{name}", called["code"]), [EXTENSION.store])
    return pq.read_table(path), read_json(record_of(path))


def test_scores_of_pairs_are_cached_and_a_forged_one_is_not_taken(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = save_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny")
    expected, first = score(tmp_path / "a", model, cache, "crossed")
    found, taken = score(tmp_path / "b", model, cache, "mine")
    assert ["taken" in each for each in (first, taken)] == [False, True]
    assert (found, taken["system"]) == (expected, "mine")
    for number, changes in enumerate(({"seed": 1}, {"max_length": 8})):
        assert "taken" not in score(tmp_path / f"other {number}", model, cache, "mine", **changes)[1]
    replace_content(cache, negate_scores)
    found, computed = score(tmp_path / "c", model, cache, "crossed")
    assert "taken" not in computed
    assert "what was drawn is 2.0e+00 of its length from what the model computes here" in caplog.text
    assert found == expected


def test_an_audit_computes_whatever_the_configuration_names(tmp_path: Path, tiny_bert: Path, cache: Path, first: User) -> None:
    other = User(tmp_path / "other", tiny_bert, cache)
    assert "taken" not in other.encode(alone=True)[1]
    other.encode(None, alone=True)
    assert len(files(cache, "entry.json")) == 1


def test_queries_are_cached_beside_documents(tmp_path: Path, tiny_bert: Path, cache: Path, first: User) -> None:
    first.encode(None)
    assert "taken" in User(tmp_path / "other", tiny_bert, cache).encode(None)[1]


def test_a_full_cache_costs_a_warning_and_leaves_nothing_half(
    tmp_path: Path, tiny_bert: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk, filled(disk, 0):
        _, record = User(tmp_path / "first", tiny_bert, disk).encode()
        assert record["rows"] == len(TEXTS)
        assert not [path for path in disk.rglob("*") if path.is_file() and path.name != "filler-of-test"]
    assert "others cannot take this file from there" in caplog.text


def test_two_writers_of_one_entry_leave_one_sound_entry(tmp_path: Path, tiny_bert: Path, cache: Path) -> None:
    users = [User(tmp_path / str(number), tiny_bert, cache) for number in range(2)]
    with ThreadPoolExecutor(2) as both:
        made = [vectors.tobytes() for vectors, _ in both.map(User.encode, users)]
    assert len({*made}) == 1
    assert len(files(cache, "*")) == 2
    assert "taken" in User(tmp_path / "third", tiny_bert, cache).encode()[1]


@pytest.mark.long
def test_a_bucket_that_does_not_answer_costs_time_and_a_warning(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with silent_bucket(monkeypatch) as place:
        assert "taken" not in User(tmp_path / "first", tiny_bert, place).encode()[1]
    warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert [each.split("; ")[-1][:10] for each in warnings] == ["unless its", "others can"]


@pytest.mark.long
def test_a_bucket_is_a_cache(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boto3 = pytest.importorskip("boto3", reason="needs envs/requirements-bucket.txt and requirements-bucket-server.txt")
    server = pytest.importorskip("moto.server", reason="needs envs/requirements-bucket.txt and requirements-bucket-server.txt")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    address = "{}:{}".format(*moto.get_host_and_port())
    client = boto3.client("s3", endpoint_url=f"http://{address}", region_name="us-east-1")
    client.create_bucket(Bucket="of-a-group")
    place = f"s3://of-a-group/folder?scheme=http&endpoint_override={address}"
    first, second = (User(tmp_path / name, tiny_bert, place).encode() for name in ("first", "second"))
    assert ["taken" in record for _, record in (first, second)] == [False, True]
    assert first[0].tobytes() == second[0].tobytes()
    keys = [each["Key"] for each in client.list_objects_v2(Bucket="of-a-group")["Contents"]]
    assert sorted(key.rpartition("/")[2].rpartition(".")[2] for key in keys) == ["json", "npy"]
    moto.stop()


@pytest.mark.parametrize("place", ["shared", "s3://name:secret@bucket", "s3://bucket?proxy=a", "http://host/cache", ""])
def test_a_place_that_is_none_is_refused_before_anything_runs(place: str) -> None:
    with pytest.raises(ConfigError, match=r"cache: found .*the absolute path of a folder, or a bucket as s3://bucket/folder"):
        load_experiment({"systems": ["bm25"], "datasets": ["nfcorpus"], "cache": place})
