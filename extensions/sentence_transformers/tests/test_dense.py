"""Folders that sentence-transformers itself encodes: its vectors, and the folders that are refused."""

import importlib.metadata
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from beirflow.core.errors import DataError, ModelError
from beirflow.core.records import Job, read_json
from beirflow.models.model_files import check_model, fetch_model, model_card, model_digests
from beirflow.models.model_places import problem_with
from beirflow.models.settings import EncoderSettings
from encoding import encoded, loaded
from pickles import Trap
from tiny_bert import WORDS, change_weights
from zoo import KINDS, LIBRARY_ALONE, QUERY, Build, change_json, of_bert

RNG = np.random.default_rng(5)
TEXTS = [*(" ".join(RNG.choice(WORDS, length)) for length in (5, 1, 17, 9, 40, 2)), "", "W1 w2, w3 unknown"]

MATCH = r"`encoder: sentence-transformers` runs that library itself|so that this library itself computes the model"

BERT = "BERT, mean, 256 tokens, length 1"


def system(folder: Path, **settings: Any) -> EncoderSettings:
    return EncoderSettings("theirs", model=str(folder), encoder="sentence-transformers", **settings)


def assert_as_the_library(folder: Path, atol: float = 1e-5, **own: Any) -> None:
    reference = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32}, local_files_only=True)
    settings = system(folder, **own)
    assert problem_with(settings, list) is None
    np.testing.assert_allclose(encoded(settings, TEXTS, "queries"), reference.encode_query(TEXTS), atol=atol)
    np.testing.assert_allclose(encoded(settings, TEXTS, "documents"), reference.encode_document(TEXTS), atol=atol)


@pytest.mark.parametrize("kind", LIBRARY_ALONE)
def test_what_is_not_read_here_has_the_vectors_of_the_library(kind: str, tmp_path: Path) -> None:
    folder = LIBRARY_ALONE[kind](tmp_path)
    settings = EncoderSettings(name="mine", model=str(folder))
    with pytest.raises(ModelError, match=MATCH):
        encoded(settings, TEXTS, "queries") if model_card(settings) else None
    assert_as_the_library(folder, atol=1e-6, arguments={"device": "cpu"})


@pytest.mark.parametrize(
    "build",
    [
        of_bert("cls", prompts={"query": "w1 ", "document": "w2 w3 "}, transformer={"max_seq_length": 9}, truncate_dim=8),
        KINDS["two towers of transformers (Router)"],
    ],
)
def test_prompts_lengths_routes_and_dimensions_are_those_of_the_folder(build: Build, tmp_path: Path) -> None:
    assert_as_the_library(build(tmp_path))


def test_prefixes_of_the_arguments_win(tmp_path: Path) -> None:
    folder = of_bert("mean", prompts=QUERY)(tmp_path)
    plain = SentenceTransformer(str(folder), device="cpu", prompts={}, local_files_only=True)
    own = system(folder, query_prefix="w7 ", document_prefix="w8 ")
    for kind, prefix in (("queries", "w7 "), ("documents", "w8 ")):
        expected = plain.encode([prefix + text for text in TEXTS], prompt="")
        np.testing.assert_allclose(encoded(own, TEXTS, kind), expected, atol=1e-5)


def test_half_precision_weights_are_computed_in_float32(tmp_path: Path) -> None:
    folder = KINDS[BERT](tmp_path)
    change_weights(folder, lambda weights: {name: each.half() for name, each in weights.items()})
    change_json(folder / "config.json", dtype="float16")
    assert_as_the_library(folder)


def without_pooler(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: each for name, each in weights.items() if "pooler" not in name}


def test_the_record_has_digests_of_the_folder_and_the_version_of_the_library(tmp_path: Path) -> None:
    folder = LIBRARY_ALONE["LSTM"](tmp_path)
    settings, record = system(folder), tmp_path / "record.json"
    fetch_model(system=settings, configured=["similarity"], output_path=str(record), job=Job(tmp_path))
    held = read_json(record)
    assert (held["encoder"], held["model"]) == ("sentence-transformers", str(folder))
    assert "1_LSTM/model.safetensors" in held["files"]
    assert "beirflow/extensions/sentence_transformers/model.py" in held["files"]
    encoder = loaded(settings, "queries")
    assert encoder.made()["sentence_transformers"] == importlib.metadata.version("sentence-transformers")
    change_json(folder / "config_sentence_transformers.json", default_prompt_name="query")
    with pytest.raises(DataError, match=r"the model in .* has another config_sentence_transformers"):
        check_model(settings, str(record))


def modules(folder: Path, *types: str) -> None:
    entries = ", ".join(f'{{"idx": {i}, "name": "{i}", "path": "", "type": "{name}"}}' for i, name in enumerate(types))
    (folder / "modules.json").write_text(f"[{entries}]")


def config(name: str, **changes: Any) -> Callable[[Path], object]:
    return lambda folder: change_json(folder / name, **changes)


def link_a_folder(folder: Path) -> None:
    (folder / "2_Normalize").rename(folder.parent / "other")
    (folder / "2_Normalize").symlink_to(folder.parent / "other")


LIBRARY, BACKBONE = "config_sentence_transformers.json", "sentence_bert_config.json"
REFUSED: dict[str, Callable[[Path], object]] = {
    "no model of a SentenceTransformer; expected a folder with": lambda folder: (folder / "modules.json").unlink(),
    "this is a SparseEncoder, no SentenceTransformer; a system of family sparse takes such models": config(
        LIBRARY, model_type="SparseEncoder"
    ),
    "has the prompt 'passage' and none called 'document', .*Set document_prefix": config(LIBRARY, prompts={"passage": "w1 "}),
    "has auto_map: the model needs its own code": config("config.json", auto_map={"AutoModel": "modeling.Mine"}),
    "has an adapter": config("adapter_config.json", r=4),
    "names 'bert-base-uncased' in tokenizer_name_or_path, which no digest covers": config(
        BACKBONE, tokenizer_name_or_path="bert-base-uncased"
    ),
    "names 'someone/kernel' in attn_implementation, which no digest covers": config(
        BACKBONE, model_args={"attn_implementation": "someone/kernel"}
    ),
    "the module '../other' is outside the folder": lambda folder: (folder / "modules.json").write_text(
        '[{"type": "a.B", "path": "../other"}]'
    ),
    "onnx: no digest covers a module there": lambda folder: (folder / "modules.json").write_text(
        '[{"type": "a.B", "path": "onnx"}]'
    ),
    "2_Normalize is a link to a folder, whose files no digest covers": link_a_folder,
}


@pytest.fixture(scope="module")
def bert_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return KINDS[BERT](tmp_path_factory.mktemp("bert"))


@pytest.fixture
def bert(bert_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bert_once, tmp_path / "model"))


@pytest.mark.parametrize("reason", REFUSED)
def test_a_folder_is_refused_before_anything_is_loaded(reason: str, bert: Path) -> None:
    REFUSED[reason](bert)
    with pytest.raises(ModelError, match=reason):
        loaded(system(bert), "queries")
    assert problem_with(system(bert), list)


def test_all_files_count_wherever_the_folder_is_but_hidden_ones_and_other_weights(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [*model_digests(system(bert))]
    for name in ("onnx/model.onnx", "tf_model.h5", ".cache/about.json"):
        (bert / name).parent.mkdir(exist_ok=True)
        (bert / name).touch()
    assert [*model_digests(system(bert))] == files
    (bert / "2_Normalize" / "more.txt").touch()
    monkeypatch.chdir(bert.parent)
    assert {*model_digests(system(Path("model")))} == {*files, "2_Normalize/more.txt"}
    np.testing.assert_array_equal(*(encoded(system(path), TEXTS, "queries") for path in (Path("model"), bert)))


@pytest.mark.parametrize("kind", ["LSTM", "CNN"])
def test_no_code_of_a_folder_runs(kind: str, tmp_path: Path) -> None:
    folder = LIBRARY_ALONE[kind](tmp_path)
    (place,) = folder.glob(f"1_{kind}")
    (place / "model.safetensors").unlink()
    (place / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    with pytest.raises(ModelError, match=r"cannot be loaded \(UnpicklingError"):
        encoded(system(folder), TEXTS, "queries")
    assert not (tmp_path / "ran").exists()
    (folder / "mine_of_folder.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'ran')!r})\nclass Mine: pass\n")
    modules(folder, "mine_of_folder.Mine")
    with pytest.raises(ModelError, match=r"references the module class 'mine_of_folder\.Mine'"):
        encoded(system(folder), TEXTS, "queries")
    assert not (tmp_path / "ran").exists()


def test_weights_that_the_files_lack_are_not_left_at_random(bert: Path) -> None:
    lacking = "encoder.layer.1.output.dense.weight"
    change_weights(bert, lambda weights: {name: each for name, each in without_pooler(weights).items() if name != lacking})
    with pytest.raises(ModelError, match="gives different vectors each time it is loaded: its files lack weights"):
        encoded(system(bert), TEXTS, "queries")


def test_weights_that_no_vector_needs_may_be_absent(bert: Path) -> None:
    expected = encoded(system(bert), TEXTS, "documents")
    change_weights(bert, without_pooler)
    np.testing.assert_array_equal(encoded(system(bert), TEXTS, "documents"), expected)


def cnn_that_reads_padding(folder: Path) -> Path:
    """A CNN whose padding has a vector of its own, as a table has that was not read from a text file."""
    model = LIBRARY_ALONE["CNN"](folder)
    path = next(each for each in model.rglob("model.safetensors") if "emb_layer.weight" in load_file(each))
    change_weights(path.parent, lambda weights: {"emb_layer.weight": weights["emb_layer.weight"] + 1})
    return model


@pytest.mark.parametrize(
    "build", [of_bert("mean", model_type="fnet", sizes={"use_tpu_fourier_optimizations": False}), cnn_that_reads_padding]
)
def test_a_model_whose_vectors_depend_on_their_batch_is_refused(build: Build, tmp_path: Path) -> None:
    folder = build(tmp_path)
    with pytest.raises(ModelError, match="gives a text different vectors alone and in a batch with a longer one"):
        encoded(system(folder), TEXTS, "documents")


@pytest.mark.parametrize(
    ("version", "reason"), [(None, "not installed here; install it with"), ("5.2.0", "5.2.0 imports any class")]
)
def test_the_library_has_to_be_there_in_a_version_that_runs_no_code(
    version: str | None, reason: str, bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_library(name: str) -> str:
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", of_library)
    with pytest.raises(ModelError, match=rf"{reason}.*pip install 'beirflow\[sentence-transformers\]'"):
        encoded(system(bert), TEXTS, "queries")
