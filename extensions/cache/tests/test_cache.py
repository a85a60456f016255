"""A cache that a group shares: what one computed the others take, and nothing that is not what the model computes."""

import json
import logging
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.digests import file_digest
from beirflow.core.errors import ConfigError
from beirflow.core.layout import record_of
from beirflow.extensions.cache import EXTENSION
from beirflow.families.dense.encode import encode_chunk, encode_queries
from beirflow.run.code_version import calls
from beirflow.run.rule_call import run_step
from beirflow.run.rule_job import Named, RuleJob
from dense_results import ON_CPU, DenseResults
from faults_at_work import filled, small_disk

TEXTS = [f"w{number} w{number % 7} w{number % 5}" for number in range(20)]

pytestmark = pytest.mark.usefixtures("threads_as_before")


class User:
    """One who encodes a corpus into a results folder of their own, under a name of their own for the system."""

    def __init__(self, folder: Path, model: Path, cache: str | Path, name: str = "tiny", **settings: Any) -> None:
        self.here, self.cache, self.name = DenseResults(folder / "results", model, **settings), cache, name
        self.here.write([TEXTS])
        self.here.write_queries(TEXTS[:3])

    def encode(self, chunk: int | None = 0, code: str = "", *, alone: bool = False) -> tuple[np.ndarray, dict[str, Any]]:
        """Encode the chunk or the queries as the rule does, or alone as an audit does; give vectors and record."""
        step, path = (encode_queries, self.here.path(chunk=None)) if chunk is None else (encode_chunk, self.here.path())
        wildcards = {"system": self.name, "dataset": "some", **({} if chunk is None else {"chunk": str(chunk)})}
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


def files(cache: Path, name: str) -> list[Path]:
    return sorted(cache.glob(f"*/{name}"))


def test_a_second_user_takes_what_the_first_one_computed(
    tmp_path: Path, tiny_bert: Path, cache: Path, first: User, caplog: pytest.LogCaptureFixture
) -> None:
    copied = shutil.copytree(tiny_bert, tmp_path / "the same model elsewhere")
    other = User(tmp_path / "other", copied, cache, name="mine")
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


def damage_content(cache: Path) -> None:
    (content,) = files(cache, "*.npy")
    content.write_bytes(content.read_bytes()[:-1] + b"?")


def damage_entry(cache: Path) -> None:
    (entry,) = files(cache, "entry.json")
    entry.write_bytes(entry.read_bytes()[:-9])


def lose_content(cache: Path) -> None:
    files(cache, "*.npy")[0].unlink()


def replace_content(cache: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Write other vectors, and an entry with their digest."""
    (entry,), (content,) = files(cache, "entry.json"), files(cache, "*.npy")
    np.save(content, change(np.load(content)))
    forged = json.loads(entry.read_bytes()) | {"digest": file_digest(content)}
    content.rename(content.with_name(f"{forged['digest']}.npy"))
    entry.write_text(json.dumps(forged))


def forge(cache: Path) -> None:
    replace_content(cache, np.negative)


def shorten(cache: Path) -> None:
    replace_content(cache, lambda vectors: vectors[:1])


def change_fields(cache: Path, **fields: Any) -> None:
    (entry,) = files(cache, "entry.json")
    content = json.loads(entry.read_bytes())
    entry.write_text(json.dumps({**content, "fields": {**content["fields"], **fields}}))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (damage_content, "is damaged: its sha256 is"),
        (damage_entry, "entry.json is damaged"),
        (lose_content, "No such file or directory"),
        (forge, "a drawn text is 2.0e+00 of its length from what the model computes here, at most 1e-03 was expected"),
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
    assert warning.endswith(f"; it is computed here; to have it kept again, remove the entry {entry.parent.name}")


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


@pytest.fixture
def silent_server() -> Iterator[str]:
    """The address of a server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield "{}:{}".format(*server.getsockname())


@pytest.mark.long
def test_a_bucket_that_does_not_answer_costs_time_and_a_warning(
    tmp_path: Path, tiny_bert: Path, silent_server: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    place = f"s3://bucket/folder?scheme=http&endpoint_override={silent_server}"
    assert "taken" not in User(tmp_path / "first", tiny_bert, place).encode()[1]
    warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert [each.split("; ")[-1][:10] for each in warnings] == ["to have it", "others can"]


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
