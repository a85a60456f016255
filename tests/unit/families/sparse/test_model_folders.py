"""Models that cannot be used are refused before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import ModelError
from beirflow.core.records import Job, read_json
from beirflow.families.sparse.model_folders import fetch_sparse_model, local_files, model_folders, model_problem
from beirflow.families.sparse.settings import SparseSettings
from tiny_sparse import save_masked_lm

HUB, COMMIT = "naver/splade-v3", "0" * 40


@pytest.mark.parametrize(
    ("settings", "key", "says"),
    [
        ({"model": HUB}, "model", "needs 'revision'"),
        ({"model": HUB, "revision": COMMIT, "query_model": "x/y"}, "query_model", "needs 'query_revision'"),
        ({"model": "/nowhere"}, "model", "nothing is there"),
        ({"model": "package:no_such_package/model"}, "model", "'no_such_package' with this folder is not installed"),
        ({"model": HUB, "revision": COMMIT, "query_model": "x/y", "queries": "tokens"}, "query_model", "remove the key"),
        ({"model": HUB, "revision": COMMIT, "query_model": "x/y", "head": "sparta"}, "query_model", "remove the key"),
    ],
)
def test_a_model_that_cannot_be_used_is_named(settings: dict[str, Any], key: str, says: str) -> None:
    found = model_problem(SparseSettings("s", **settings))
    assert (found.key, found.value) == (key, settings[key])
    assert says in found.problem
    with pytest.raises(ModelError, match="system s"):
        model_folders(SparseSettings("s", **settings))


def test_files_are_those_of_a_complete_folder(tmp_path: Path) -> None:
    on_hub, settings = SparseSettings("s", model=HUB, revision=COMMIT), SparseSettings("s", model=str(tmp_path))
    assert (model_problem(on_hub), local_files(on_hub), local_files(settings)) == (None, [], [])
    with pytest.raises(ModelError, match=r"has no config\.json"):
        model_folders(settings)
    save_masked_lm(tmp_path)
    assert model_problem(settings) is None
    assert {path.name for path in local_files(settings)} >= {"config.json", "tokenizer.json", "model.safetensors"}


def test_the_record_has_the_digests_and_other_weights_are_refused(tmp_path: Path) -> None:
    folder = save_masked_lm(tmp_path / "model")
    settings = SparseSettings("s", model=str(folder))
    path = tmp_path / "results/models/s.json"
    fetch_sparse_model(settings=settings, output_path=str(path), job=Job(tmp_path / "results"))
    assert read_json(path)["files"] == {file.name: file_digest(file) for file in local_files(settings)}
    other = SparseSettings("s", model=str(folder), weights_sha256="0" * 64)
    with pytest.raises(ModelError, match="these are other weights"):
        fetch_sparse_model(settings=other, output_path=str(tmp_path / "x.json"), job=Job(tmp_path))
    assert not (tmp_path / "x.json").exists()
