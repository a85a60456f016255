"""Statements of a model's own files: read, overridden, left open or refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, models
from sentence_transformers.base.modules import Dense, Normalize

import encoding
from beirflow.core.errors import DataError, ModelError
from beirflow.core.records import Job, read_json
from beirflow.models.card_files import read_card
from beirflow.models.model_files import check_model, fetch_model, model_card, model_files
from beirflow.models.settings import EncoderSettings
from tiny_bert import SPECIAL, WORDS, change_weights, having, save_model, save_tiny_bert, saved_once, without
from zoo import BART, LLAMA, change_json, of_bert, t5, two_towers

LIBRARY, BACKBONE = "config_sentence_transformers.json", "sentence_bert_config.json"
TEXTS = ["w1 w2 w3", "", "w4 w5 w6 w7 w8 w9", "w10"]
PLAIN = {"pooling": "mean"}


def settings(folder: Path, **fields: Any) -> EncoderSettings:
    return EncoderSettings(name="mine", model=str(folder), **fields)


def encoded(system: EncoderSettings, texts: list[str] = TEXTS, kind: Any = "documents") -> np.ndarray:
    return encoding.encoded(system, texts, kind)


@saved_once
def save_whole(folder: Path) -> Path:
    """A model of sentence-transformers: BERT, cls, length 1, at most 20 tokens, a prompt for queries."""
    build = of_bert("cls", Normalize, transformer={"max_seq_length": 20}, prompts={"query": "w1 ", "document": ""})
    return build(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_whole(tmp_path) / "model"


def refused(system: EncoderSettings, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        encoded(system)


def unreadable(system: EncoderSettings, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        model_card(system)


def test_the_card_says_what_was_read(folder: Path) -> None:
    card = read_card(folder)
    assert [step.kind for step in card.steps["queries"]] == ["transformer", "pooling", "normalize"]
    assert card.steps["documents"][1].settings == {"modes": ["cls"], "include_prompt": True}
    assert card.prompts == {"queries": "w1 ", "documents": ""}
    assert (card.similarity, card.dimensions, card.open) == ("cosine", None, {})
    encoder = encoding.loaded(settings(folder), "queries")
    assert encoder.described()["max_length"] == 20
    assert encoder.described()["prompt"] == "w1 "


def test_an_empty_file_of_a_transformer_leaves_the_word_to_the_next(folder: Path) -> None:
    """As sentence-transformers reads them."""
    (folder / "sentence_roberta_config.json").write_text('{"max_seq_length": 11}')
    (folder / "sentence_bert_config.json").write_text("{}")
    assert read_card(folder).steps["queries"][0].settings["max_length"] == 11


def test_what_the_configuration_says_wins_and_is_named(folder: Path) -> None:
    system = settings(folder, pooling="mean", normalize=False, max_length=9, query_prefix="w2 ", dimensions=5)
    card = model_card(system)
    assert [step.kind for step in card.steps["queries"]] == ["transformer", "pooling"]
    assert card.overridden == ("dimensions", "max_length", "normalize", "pooling", "query_prefix")
    plain = encoded(settings(folder, pooling="mean", normalize=False, max_length=9))
    np.testing.assert_array_equal(encoded(system), plain[:, :5])
    assert np.abs(np.linalg.norm(plain, axis=1) - 1).min() > 0.01
    refused(settings(folder, dimensions=33), r"system mine: dimensions is 33, but a vector of this model has 32")


def remove_config(folder: Path, name: str) -> None:
    (folder / name / "config.json").unlink()


def empty_config(folder: Path, name: str) -> None:
    (folder / name / "config.json").write_text("{}")


@saved_once
def save_all_modules(folder: Path) -> Path:
    """A model with every module that has a configuration: BERT, cls, LayerNorm, Dense, length 1."""
    return of_bert("cls", lambda: models.LayerNorm(32), lambda: Dense(32, 16, activation_function=torch.nn.ReLU()), Normalize)(
        folder
    )


@pytest.mark.parametrize("name", ["1_Pooling", "2_LayerNorm", "3_Dense"])
@pytest.mark.parametrize("spoil", [remove_config, empty_config])
def test_a_module_whose_configuration_is_missing_is_refused_as_sentence_transformers_does(
    tmp_path: Path, spoil: Callable[[Path, str], None], name: str
) -> None:
    folder = save_all_modules(tmp_path) / "model"
    spoil(folder, name)
    expected = f"system mine: .*{name}.* has no .*; fetch or copy the model again, with its folders"
    unreadable(settings(folder), expected)
    with pytest.raises((TypeError, KeyError)):
        SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.mark.parametrize("name", ["2_LayerNorm", "3_Dense"])
def test_a_module_whose_weights_are_missing_is_refused(tmp_path: Path, name: str) -> None:
    folder = save_all_modules(tmp_path) / "model"
    (folder / name / "model.safetensors").unlink()
    refused(settings(folder), f"{name}/model.safetensors is missing, but the files of the model name a module there")


def test_what_sentence_transformers_reads_only_if_it_is_there_may_be_missing(tmp_path: Path) -> None:
    folder = save_all_modules(tmp_path) / "model"
    whole = encoded(settings(folder))
    remove_config(folder, "4_Normalize")
    (folder / BACKBONE).unlink()
    expected = SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(TEXTS)
    np.testing.assert_allclose(encoded(settings(folder)), expected, atol=1e-5)
    np.testing.assert_array_equal(encoded(settings(folder)), whole)


def test_a_bare_model_leaves_pooling_and_similarity_to_be_said(tiny_bert: Path) -> None:
    unreadable(settings(tiny_bert), r"system mine.*no modules.json.*Set pooling and similarity for this system")
    unreadable(settings(tiny_bert, pooling="cls"), r"no modules.json.*Set similarity for")


def test_what_other_files_beside_a_bare_model_say_has_to_be_said_since_the_library_does_not_read_it(own_bert: Path) -> None:
    bare = settings(own_bert, pooling="mean")
    whole = SentenceTransformer(str(own_bert), device="cpu", local_files_only=True).encode(TEXTS)
    change_json(own_bert / BACKBONE, max_seq_length=5)
    change_json(own_bert / LIBRARY, prompts={"query": "w1 ", "document": ""}, default_prompt_name="query")
    peer = SentenceTransformer(str(own_bert), device="cpu", local_files_only=True)
    np.testing.assert_array_equal(peer.encode(TEXTS), whole)
    unreadable(bare, "no modules.json.*Set similarity and query_prefix and max_length for this system")
    said = settings(own_bert, pooling="mean", query_prefix="", max_length=64)
    np.testing.assert_allclose(encoded(said), whole, atol=1e-5)
    change_json(own_bert / BACKBONE, do_lower_case=True)
    unreadable(said, "has do_lower_case in the configuration of its Transformer, but no modules.json")


@pytest.mark.parametrize(
    ("library", "key"),
    [
        ({"prompts": {"query": "w1 ", "passage": "w2 "}}, "document_prefix"),
        ({"prompts": {"document": "w3 ", "other": "w2 "}, "default_prompt_name": "other"}, "query_prefix"),
        ({"prompts": {"query": "w1 ", "document": "", "passage": "w2 "}}, "document_prefix"),
        ({"prompts": {"s2p_query": "w1 ", "s2s": "w2 "}}, "query_prefix"),
        ({"prompts": {"query": "w1 ", "document": None, "search_document": "w2 "}}, "document_prefix"),
    ],
)
def test_a_prompt_that_sentence_transformers_would_leave_out_has_to_be_said(folder: Path, library: Any, key: str) -> None:
    change_json(folder / LIBRARY, **library)
    unreadable(settings(folder), f"sentence-transformers 6 writes none.*Set {key} for this system")
    assert model_card(settings(folder, **{key: "w2 "})).open == {}


def test_an_empty_prompt_that_sentence_transformers_wrote_itself_does_not_stand_for_the_default(folder: Path) -> None:
    prompts = {"query": "", "document": "", "other": "w2 "}
    change_json(folder / LIBRARY, prompts=prompts, default_prompt_name="other")
    unreadable(
        settings(folder), "'other' and an empty one called 'query', .*Set query_prefix and document_prefix for this system"
    )
    change_json(folder / LIBRARY, prompts=prompts | {"query": "w1 "}, default_prompt_name="other")
    assert model_card(settings(folder)).prompts == {"queries": "w1 ", "documents": ""}


def test_another_similarity_has_to_be_said(folder: Path) -> None:
    change_json(folder / LIBRARY, similarity_fn_name="euclidean")
    unreadable(settings(folder), r"'euclidean', and only dot and cosine are supported.*Set similarity")


def modules(*names: str) -> Callable[[Path], object]:
    """Other modules in modules.json."""

    def change(folder: Path) -> None:
        paths = ["1_Pooling" if name == POOLING else f"{i}_x" if i else "" for i, name in enumerate(names)]
        entries = [{"idx": i, "name": str(i), "path": paths[i], "type": name} for i, name in enumerate(names)]
        (folder / "modules.json").write_text(json.dumps(entries))

    return change


def config(name: str = "config.json", **changes: Any) -> Callable[[Path], object]:
    return lambda folder: change_json(folder / name, **changes)


TRANSFORMER, POOLING = "sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling"


NOT_UNDERSTOOD: dict[str, Callable[[Path], object]] = {
    "asks for custom_st.Mine, which beirflow does not know; known are": modules(TRANSFORMER, "custom_st.Mine"),
    "asks for custom_st.Transformer, which beirflow does not know": modules("custom_st.Transformer", POOLING),
    "asks for mine.Dropout, which beirflow does not know": modules(TRANSFORMER, POOLING, "mine.Dropout"),
    "asks for mine.Router, which beirflow does not know": modules("mine.Router"),
    "models.CNN, which beirflow does not know": modules(TRANSFORMER, "sentence_transformers.models.CNN"),
    "a system of family sparse takes such": modules("sentence_transformers.sparse_encoder.models.MLMTransformer"),
    "pylate.models.Dense.Dense, which beirflow does not know; a system of family late-interaction takes such models": modules(
        TRANSFORMER, "pylate.models.Dense.Dense"
    ),
    "this is a ColBERT, no SentenceTransformer; a system of family late-interaction": config(LIBRARY, model_type="ColBERT"),
    "the modules are transformer; expected a backbone, one pooling": modules(TRANSFORMER),
    "the modules are pooling; expected": modules(POOLING),
    "does not hold a list of modules": lambda folder: (folder / "modules.json").write_text("{}"),
    "outside the folder": lambda folder: (folder / "modules.json").write_text('[{"type": "a.Pooling", "path": "../x"}]'),
    "a SparseEncoder, no SentenceTransformer; a system of": config(LIBRARY, model_type="SparseEncoder"),
    "of family rerank takes such models": config(LIBRARY, model_type="CrossEncoder"),
    "truncate_dim is '8'": config(LIBRARY, truncate_dim="8"),
    "pooling is attention; known are cls, max": config("1_Pooling/config.json", pooling_mode="attention"),
    "the configuration of its Transformer has tokenizer_name_or_path": config(BACKBONE, tokenizer_name_or_path="other"),
    "its Transformer has model_args.subfolder, which beirflow does not know": config(BACKBONE, model_args={"subfolder": "x"}),
    "its Transformer has processor_kwargs.truncation_side, which beirflow does not know": config(
        BACKBONE, processor_kwargs={"truncation_side": "left"}
    ),
    "Transformer has processing_kwargs": config(BACKBONE, processing_kwargs={"text": {}, "common": {}}),
    "Transformer has transformer_task": config(BACKBONE, transformer_task="fill-mask"),
    "config.json has auto_map: the model needs its own code": config(auto_map={"AutoModel": "x.Y"}),
    "tokenizer_config.json has auto_map": config("tokenizer_config.json", auto_map={"AutoTokenizer": ["x.Y", None]}),
    "names files elsewhere (vocab_file), which no digest": config("tokenizer_config.json", vocab_file="/elsewhere/vocab.txt"),
    "has transformers_weights, a file of weights other than the hashed one": config(transformers_weights="other.safetensors"),
    "has an adapter (adapter_config.json); merge it": config("adapter_config.json", peft_type="LORA"),
    "has quantization_config": config(quantization_config={"quant_method": "bitsandbytes"}),
    "a model of type xlnet pads texts at the beginning and has its own token types": config(model_type="xlnet"),
    "big_bird gives a text different vectors alone and in a batch": config(model_type="big_bird"),
}


@pytest.mark.parametrize("reason", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_refused_with_its_reason(folder: Path, reason: str) -> None:
    NOT_UNDERSTOOD[reason](folder)
    with pytest.raises(ModelError) as caught:
        model_card(settings(folder))
    assert "system mine" in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("architecture", "family"),
    [("BertForMaskedLM", "sparse"), ("BertForSequenceClassification", "rerank"), ("HF_ColBERT", "late-interaction")],
)
def test_a_bare_model_with_a_head_is_for_another_family(own_bert: Path, architecture: str, family: str) -> None:
    change_json(own_bert / "config.json", architectures=[architecture])
    reason = f"{architecture}: its head would not be used.*a system of family {family} takes such models"
    unreadable(settings(own_bert, **PLAIN), reason)


def test_weights_that_the_model_does_not_use_are_refused_inside_it_and_left_out_as_a_head(
    tiny_bert: Path, own_bert: Path
) -> None:
    plain = settings(own_bert, **PLAIN)
    change_weights(own_bert, having("classifier.weight", torch.ones(1)))
    np.testing.assert_array_equal(encoded(plain), encoded(settings(tiny_bert, **PLAIN)))
    change_weights(own_bert, having("embeddingHead.weight", torch.ones(32, 32)))
    refused(plain, r"weights that .* of no head known to give no vectors: embeddingHead\.weight; if they")
    change_weights(own_bert, without("embeddingHead"))
    strange = ("attention_pooler.proj.weight", "head.weight", "my_decoder.weight", "bert.pooler.more.weight", "cls.more.weight")
    for name in (*strange, "decoder.block.0.weight", "classifier.latent.weight"):
        change_weights(own_bert, having(name, torch.ones(32, 32)))
        refused(plain, rf"of no head known to give no vectors: {name}; if they")
        change_weights(own_bert, without(name))
    for name in ("bert.pooler.dense.weight", "head.dense.weight", "cls.predictions.decoder.weight", "rotary_emb.inv_freq"):
        change_weights(own_bert, having(name, torch.ones(32, 32)))
    np.testing.assert_array_equal(encoded(plain), encoded(settings(tiny_bert, **PLAIN)))
    layer = {name: value for name, value in load_file(own_bert / "model.safetensors").items() if "layer.1." in name}
    change_weights(own_bert, lambda held: held | {name.replace("layer.1", "layer.2"): value for name, value in layer.items()})
    refused(plain, r"weights that the model of config.json does not use, .*: encoder\.layer\.2.* and 11 others")


def test_every_file_of_every_module_is_hashed_and_a_change_is_noticed(tmp_path: Path) -> None:
    folder = t5(tmp_path)
    system = settings(folder)
    record = tmp_path / "model.json"
    fetch_model(system=system, configured=[], output_path=str(record), job=Job(tmp_path))
    files = read_json(record)["files"]
    assert {"modules.json", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"} < set(files)
    assert len(model_files(system)) == len(files)
    assert read_json(record)["card"]["similarity"] == "cosine"
    check_model(system, str(record))
    change_weights(folder / "2_Dense", lambda weights: {name: tensor + 1 for name, tensor in weights.items()})
    with pytest.raises(DataError, match=r"has another 2_Dense/model.safetensors than recorded"):
        check_model(system, str(record))


@pytest.mark.parametrize("place", ["../outside.safetensors", "/outside.safetensors", "", "a/b.safetensors"])
def test_an_index_that_names_weights_elsewhere_is_refused(own_bert: Path, tmp_path: Path, place: str) -> None:
    (own_bert / "model.safetensors").rename(tmp_path / "outside.safetensors")
    (own_bert / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": place}}))
    unreadable(settings(own_bert, **PLAIN), "names weights outside its folder")


def test_a_part_of_the_weights_that_an_index_names_and_that_is_not_there_is_refused(own_bert: Path) -> None:
    (own_bert / "model.safetensors").rename(own_bert / "model-00001-of-00002.safetensors")
    places = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (own_bert / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    unreadable(settings(own_bert, **PLAIN), r"model-00002-of-00002\.safetensors is missing, though its index")


def expected_of(model: Any, folder: Path, texts: list[str], output: str) -> np.ndarray:
    """Vectors of the class of transformers itself, whose weights and tokenizer are saved in the folder."""
    model.eval().save_pretrained(folder)
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        outputs = model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
    return getattr(outputs, output).numpy()


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
VOCABULARY = {"vocab_size": len(SPECIAL) + len(WORDS), "max_position_embeddings": 64, "pad_token_id": 0}


def test_a_dpr_pair_is_a_system_with_two_models(tmp_path: Path) -> None:
    """Each tower against its own class of transformers; the last layer's first token, with no pooler."""
    folders = {"documents": tmp_path / "context", "queries": tmp_path / "question"}
    classes = {"documents": transformers.DPRContextEncoder, "queries": transformers.DPRQuestionEncoder}
    system = settings(folders["documents"], query_model=str(folders["queries"]))
    texts = ["w1 [SEP] w2 w3", "w4"]
    for seed, (kind, folder) in enumerate(folders.items()):
        save_tiny_bert(folder)
        torch.manual_seed(seed)
        expected = expected_of(classes[kind](transformers.DPRConfig(**SIZES, **VOCABULARY)), folder, texts, "pooler_output")
        np.testing.assert_allclose(encoded(system, texts, kind), expected, atol=1e-5)
    unreadable(system, "Set similarity for this system")
    refused(settings(folders["documents"], pooling="mean"), "pooling is 'mean', but this model gives one vector per text itself")
    record = tmp_path / "model.json"
    fetch_model(system=system, configured=["similarity"], output_path=str(record), job=Job(tmp_path))
    assert {"model.safetensors", "queries/model.safetensors"} < set(read_json(record)["files"])
    assert read_json(record)["query_model"] == str(folders["queries"])


def test_a_whole_t5_is_used_without_its_decoder(tmp_path: Path) -> None:
    save_tiny_bert(tmp_path)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    torch.manual_seed(0)
    config = transformers.T5Config(vocab_size=204, **sizes, pad_token_id=0, decoder_start_token_id=0)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    model = transformers.T5EncoderModel.from_pretrained(tmp_path).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path)(TEXTS, padding=True, return_tensors="pt")
    mask = tokens["attention_mask"]
    with torch.inference_mode():
        hidden = model(input_ids=tokens["input_ids"], attention_mask=mask).last_hidden_state
    expected = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    np.testing.assert_allclose(encoded(settings(tmp_path, **PLAIN)), expected.numpy(), atol=1e-5)


def test_an_encoder_decoder_whose_encoder_cannot_be_taken_out_is_refused(tmp_path: Path) -> None:
    save_tiny_bert(tmp_path)
    transformers.BartModel(transformers.BartConfig(**BART)).save_pretrained(tmp_path)
    refused(settings(tmp_path, **PLAIN), "an encoder-decoder of type bart, whose encoder is not known here; `encoder: sentence")


@saved_once
def save_llama(folder: Path) -> Path:
    return of_bert("mean", model_type="llama", sizes=LLAMA)(folder)


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return save_llama(tmp_path) / "model"


@pytest.mark.parametrize("architecture", ["LlamaBiModel", "LlamaBidirectionalModel", "LlamaBiForMNTP", "NVEmbedModel"])
def test_a_class_that_transformers_lacks_is_not_replaced_by_the_usual_one(llama: Path, architecture: str) -> None:
    change_json(llama / "config.json", architectures=[architecture])
    refused(settings(llama), rf"names the architecture {architecture}, which transformers does not have; .*'encoder'")


@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "LlamaForCL", "LlamaWithLMHeadModel"])
def test_a_head_on_the_usual_model_is_left_out(llama: Path, architecture: str) -> None:
    expected = encoded(settings(llama))
    change_json(llama / "config.json", architectures=[architecture])
    np.testing.assert_array_equal(encoded(settings(llama)), expected)


def test_weights_behind_the_model_are_not_left_out_of_a_folder_with_modules_either(folder: Path) -> None:
    """NV-Embed's attention over latent vectors is in no module of modules.json, and only its own code applies it."""
    change_weights(folder, having("cls.predictions.bias", torch.ones(1)))
    assert encoded(settings(folder)).any()
    change_weights(folder, having("latent_attention_model.latents", torch.ones(1)))
    refused(settings(folder), r"of no head known to give no vectors: latent_attention_model\.latents; if they change")


BY_BATCH = r"gives a text different vectors alone and in a batch .* no vector is the right one"


@pytest.mark.parametrize("model_type", ["fnet", "yoso", "convbert"])
def test_a_model_whose_vectors_depend_on_the_batch_is_refused(tmp_path: Path, model_type: str) -> None:
    """sentence-transformers gives a text of each another vector for another batch."""
    sizes = {"embedding_size": 16} if model_type == "convbert" else {}
    folder = of_bert("mean", model_type=model_type, sizes=sizes)(tmp_path)
    refused(settings(folder), BY_BATCH)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"bias": False}, "bias True, and config.json says False"),
        ({"out_features": 99}, "out_features 24, and config.json says 99"),
    ],
)
def test_a_dense_module_that_is_not_as_its_configuration_says_is_refused(tmp_path: Path, said: Any, reason: str) -> None:
    folder = of_bert("mean", lambda: Dense(32, 24))(tmp_path)
    change_json(folder / "2_Dense/config.json", **said)
    refused(settings(folder), f"^system mine: .*2_Dense has weights with {reason}; save the model again$")


def test_a_folder_without_weights_names_the_system_once(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no model\.safetensors") as caught:
        model_card(settings(folder))
    assert str(caught.value).count("system mine") == 1


def test_token_types_of_a_tokenizer_are_not_left_out_without_a_word(folder: Path) -> None:
    held = json.loads((folder / "tokenizer.json").read_text())
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 1}}]
    special = {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}
    post = {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special}
    (folder / "tokenizer.json").write_text(json.dumps(held | {"post_processor": post}))
    assert encoded(settings(folder)).any()  # its tokenizer_config.json asks for no types
    names = ["input_ids", "token_type_ids", "attention_mask"]
    change_json(folder / "tokenizer_config.json", model_input_names=names)
    refused(settings(folder), r"system mine: the tokenizer in .* gives token types other than 0")


def test_files_of_a_router_in_a_router_are_files_of_the_model(tmp_path: Path) -> None:
    inner = of_bert("mean")(tmp_path / "made")
    routes = {"structure": {"query": ["one"], "document": ["one"]}, "parameters": {}}
    outer = tmp_path / "outer"
    (outer / "one").mkdir(parents=True)
    inner.rename(outer / "one/two")
    router = "sentence_transformers.models.Router"
    (outer / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": router}]))
    change_json(outer / "router_config.json", types={"one": router}, **routes)
    pooling = "sentence_transformers.models.Pooling"
    types = {"two": "sentence_transformers.models.Transformer", "two/1_Pooling": pooling}
    structure = {kind: list(types) for kind in ("query", "document")}
    change_json(outer / "one/router_config.json", types=types, structure=structure, parameters={})
    assert {path.relative_to(outer).as_posix() for path in model_files(settings(outer))} >= {
        "one/two/model.safetensors",
        "one/two/1_Pooling/config.json",
    }
    reference = SentenceTransformer(str(outer), device="cpu", local_files_only=True)
    np.testing.assert_allclose(encoded(settings(outer)), reference.encode_document(TEXTS), atol=1e-5)


def test_a_router_that_names_itself_or_lacks_a_route_is_refused(tmp_path: Path) -> None:
    router = "sentence_transformers.models.Router"
    (tmp_path / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": router}]))
    change_json(tmp_path / "router_config.json", types={"": router}, structure={"query": [""], "document": [""]})
    with pytest.raises(ModelError, match=r"router_config\.json names itself as a route"):
        read_card(tmp_path)
    folder = two_towers(tmp_path / "towers")
    [path] = folder.rglob("router_config.json")
    routes = json.loads(path.read_text())["structure"]
    change_json(path, structure={"query": routes["query"], "doc": routes["document"]})
    unreadable(settings(folder), r"has no route for documents; it has .*'document' was expected")


def test_a_rotation_that_depends_on_the_batch_is_refused_unless_all_texts_are_short(tmp_path: Path) -> None:
    """Phi-3's kind: from 21 tokens on, the longest text of a batch rotates all of them by other angles."""
    factors = {"long_factor": [4.0] * 8, "short_factor": [1.0] * 8}
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 20, **factors}
    sizes = {"num_key_value_heads": 1, "rope_parameters": rope, "original_max_position_embeddings": 20}
    folder = of_bert("lasttoken", model_type="phi3", sizes=sizes)(tmp_path)
    refused(settings(folder), r"^system mine: texts may have 64 tokens, and after 20 the model .* set max_length: 20$")
    reference = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    reference.max_seq_length = 20
    texts = [*TEXTS, "w3 " * 40]
    expected = np.concatenate([reference.encode_document([text]) for text in texts])
    found = encoded(settings(folder, max_length=20), texts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("config.json", {"chunk_size_feed_forward": 7}, "the model fails on texts"),
        ("tokenizer_config.json", {"model_max_length": "many"}, "model_max_length"),
    ],
)
def test_a_configuration_that_the_model_cannot_compute_with_is_a_sentence(
    own_bert: Path, name: str, changes: Any, reason: str
) -> None:
    change_json(own_bert / name, **changes)
    with pytest.raises(ModelError, match=reason):
        encoded(settings(own_bert, **PLAIN), ["w1 " * 10, "w2"])


def test_return_dict_false_changes_nothing(tiny_bert: Path, own_bert: Path) -> None:
    change_json(own_bert / "config.json", return_dict=False)
    np.testing.assert_array_equal(encoded(settings(own_bert, **PLAIN)), encoded(settings(tiny_bert, **PLAIN)))


def test_the_longest_text_is_what_the_positions_take(tmp_path: Path) -> None:
    folder = save_model("roberta", tmp_path, positions=66, pad_token_id=1)
    change_json(folder / "tokenizer_config.json", model_max_length=10**6)
    assert encoded(settings(folder, **PLAIN), ["w1 " * 100]).shape == (1, 32)
