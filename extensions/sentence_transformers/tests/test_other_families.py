"""Rerankers, sparse and late-interaction systems that sentence-transformers itself computes: its numbers, from our own steps."""

import importlib.metadata
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from pydantic import TypeAdapter
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling, MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SparseAutoEncoder, SpladePooling
from transformers import AutoConfig, AutoModelForMaskedLM

from beirflow.config.models import system_model
from beirflow.core.errors import ModelError
from beirflow.core.records import Job, read_json
from beirflow.data.document_text import Kind
from beirflow.families.family import Family
from beirflow.families.late_interaction.card import TOKENS
from beirflow.families.late_interaction.encoder import encoder_of
from beirflow.families.late_interaction.family import FAMILY as LATE
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.rerank.family import FAMILY as RERANK
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.sparse.family import FAMILY as SPARSE
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigh import weigher_of
from beirflow.models.model_files import fetch_model
from beirflow.models.model_places import problem_with
from tiny_bert import SIZES, WORDS, change_weights, save_tiny_bert
from tiny_colbert import save_backbone, save_colbert, save_pylate
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from without_extension import without_extension
from zoo import change_json, save_japanese_tokenizer

RNG = np.random.default_rng(5)
TEXTS = [*(" ".join(RNG.choice(WORDS, length)) for length in (5, 1, 17, 9, 40, 2)), "", "W1 w2, w3 unknown"]
PAIRS = [(query, document) for query in TEXTS[:3] for document in TEXTS]
ON: Any = {"device": "cpu", "precision": "float32", "token_budget": "auto"}


METHODS: dict[Kind, str] = {"queries": "encode_query", "documents": "encode_document"}


def by(kind: type, folder: Path, **arguments: Any) -> Any:
    return kind("theirs", str(folder), encoder="sentence-transformers", arguments=arguments)


def saved(model: Any, folder: Path) -> Path:
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"


def backbone(folder: Path, **how: Any) -> Transformer:
    return Transformer(str(save_backbone(folder / "plain")), **how)


def pooled_elsewhere(folder: Path) -> Path:
    """A Pooling and a Dense that scores, and their backbone in a folder of its own."""
    torch.manual_seed(2)
    last = Dense(32, 1, activation_function=torch.nn.Identity(), module_output_name="scores")
    model = saved(CrossEncoder(modules=[backbone(folder), Pooling(32, "mean"), last], device="cpu"), folder)
    (model / "0_Transformer").mkdir()
    for path in [*model.glob("*.*")]:
        if path.name not in ("modules.json", "config_sentence_transformers.json"):
            path.rename(model / "0_Transformer" / path.name)
    modules = json.loads((model / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (model / "modules.json").write_text(json.dumps(modules))
    return model


def bare(folder: Path) -> Path:
    return save_cross_encoder(folder / "model")


def with_relu(folder: Path) -> Path:
    change_json(bare(folder) / "config.json", sbert_ce_default_activation_function="torch.nn.modules.activation.ReLU")
    return folder / "model"


RERANKERS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "a classifier alone": (bare, None),
    "its backbone in a folder of its own": (pooled_elsewhere, "config.json cannot be read"),
    "its own activation": (with_relu, None),
}


@pytest.mark.parametrize("kind", RERANKERS)
def test_pairs_have_the_scores_of_the_library(kind: str, tmp_path: Path) -> None:
    build, refused = RERANKERS[kind]
    folder = build(tmp_path)
    ours = with_entry(RERANK, RerankSettings("crossed", str(folder), first="bm25", depth=7), refused) if refused else None
    settings = ours or by(RerankSettings, folder)
    assert RERANK.problem(settings) is None
    peer = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    activation = None if kind == "its own activation" else torch.nn.Identity()
    expected = peer.predict(PAIRS, activation_fn=activation, show_progress_bar=False)
    scorer = load_scorer(settings, **ON)
    np.testing.assert_allclose(scorer.scores(PAIRS), expected, atol=1e-6)
    assert np.ptp(expected) > 0.01
    assert scorer.made()["sentence_transformers"] == importlib.metadata.version("sentence-transformers")


def of_autoencoder(folder: Path) -> Path:
    """A dense model and a layer of which a few numbers are kept (CSR)."""
    torch.manual_seed(3)
    layer = SparseAutoEncoder(32, hidden_dim=96, k=10)
    return saved(SparseEncoder(modules=[backbone(folder), Pooling(32, "mean"), layer], device="cpu"), folder)


def masked(folder: Path) -> Path:
    return save_masked_lm(folder / "model")


def with_length(folder: Path) -> Path:
    """A SPLADE with a length, prompts and fewer terms."""
    own = MLMTransformer(str(masked(folder)), max_seq_length=9)
    model = SparseEncoder(modules=[own, SpladePooling("sum")], device="cpu", prompts={"query": "w1 ", "document": "w2 w3 "})
    model.max_active_dims = 30
    model.save_pretrained(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


def masked_of(kind: str, **sizes: Any) -> Callable[[Path], Path]:
    """A model whose head does not call its last layer."""

    def build(folder: Path) -> Path:
        save_tiny_bert(folder / "model")
        torch.manual_seed(1)
        config = AutoConfig.for_model(kind, **{**SIZES, "max_position_embeddings": 64, **sizes})
        model = AutoModelForMaskedLM.from_config(config).eval()
        for name, parameter in model.named_parameters():
            if "predictions" in name or "lm_head" in name:
                torch.nn.init.normal_(parameter, std=0.5)
        model.save_pretrained(folder / "model")
        return folder / "model"

    return build


SPARSE_MODELS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "CSR": (of_autoencoder, "has the modules .* for documents"),
    "alone": (masked, None),
    "saved": (with_length, None),
    "MobileBERT": (masked_of("mobilebert", embedding_size=16, intra_bottleneck_size=16, num_feedforward_networks=1), None),
    "DeBERTa": (masked_of("deberta-v2", legacy=False, relative_attention=True, pos_att_type=["p2c", "c2p"]), None),
}


@pytest.mark.parametrize("kind", SPARSE_MODELS)
def test_terms_have_the_weights_of_the_library(kind: str, tmp_path: Path) -> None:
    build, refused = SPARSE_MODELS[kind]
    folder = build(tmp_path)
    settings = with_entry(SPARSE, SparseSettings("s", str(folder)), refused) if refused else by(SparseSettings, folder)
    assert SPARSE.problem(settings) is None
    peer = SparseEncoder(str(folder), device="cpu", local_files_only=True)
    for text_kind, method in METHODS.items():
        expected = getattr(peer, method)(TEXTS).to_dense().numpy()
        rows = Rows.together(list(weigher_of(settings, text_kind, **ON).windows(TEXTS, text_kind)))
        found = np.zeros_like(expected)
        found[np.repeat(np.arange(len(TEXTS)), rows.counts), rows.terms] = rows.weights
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert expected.max() > 0.1


def of_tokens(*more: Any, **how: Any) -> Callable[[Path], Path]:
    """A backbone, a Dense and length 1 for every token, and more modules."""

    def build(folder: Path) -> Path:
        torch.manual_seed(4)
        dense = Dense(32, 16, bias=False, activation_function=None, module_input_name=TOKENS, module_output_name=TOKENS)
        modules = [backbone(folder, **how), dense, MultiVectorMask(["."]), Normalize(TOKENS, TOKENS), *(make() for make in more)]
        return saved(MultiVectorEncoder(modules=modules, device="cpu"), folder)

    return build


def colbert(folder: Path) -> Path:
    return save_colbert(folder / "model")


def pylate(folder: Path) -> Path:
    return save_pylate(folder / "model")


def japanese(folder: Path) -> Path:
    """PyLate's model with a tokenizer in Python, as JaColBERT has."""
    model = save_pylate(folder / "model", skiplist_words=["."])
    save_japanese_tokenizer(model, "[MASK]", "[unused0]", "[unused1]", ".")
    return model


LATE_MODELS: dict[str, tuple[Callable[[Path], Path], str | None]] = {
    "a tokenizer in Python": (japanese, None),
    "pooled tokens": (of_tokens(lambda: HierarchicalTokenPooling(2.0)), "which is not known here"),
    "ColBERT": (colbert, None),
    "PyLate": (pylate, None),
}


@pytest.mark.parametrize("kind", LATE_MODELS)
def test_tokens_have_the_vectors_of_the_library(kind: str, tmp_path: Path) -> None:
    build, refused = LATE_MODELS[kind]
    folder = build(tmp_path)
    settings = with_entry(LATE, LateSettings("late", str(folder)), refused) if refused else by(LateSettings, folder)
    assert LATE.problem(settings) is None
    peer = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    for text_kind, method in METHODS.items():
        expected = getattr(peer, method)(TEXTS, convert_to_numpy=True)
        found = TokenVectors.together(list(encoder_of(settings, text_kind, **ON).windows(TEXTS)))
        assert found.counts.tolist() == [len(each) for each in expected]
        np.testing.assert_allclose(found.vectors, np.concatenate(expected), atol=2.0**-11)


@pytest.mark.parametrize("kind", ["MobileBERT", "DeBERTa"])
def test_a_head_that_cannot_be_split_names_the_library_once_it_is_loaded(kind: str, tmp_path: Path) -> None:
    settings = SparseSettings("s", str(SPARSE_MODELS[kind][0](tmp_path)))
    with pytest.raises(ModelError, match=r"not the products of its last layer.*`encoder: sentence-transformers`"):
        weigher_of(settings, "queries", **ON)


def test_a_tokenizer_in_python_names_the_library_once_it_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is written in Python.*`encoder: sentence-transformers` runs that library"):
        encoder_of(LateSettings("late", str(japanese(tmp_path))), "queries", **ON)


def code(folder: Path) -> Path:
    change_json(folder / "config.json", auto_map={"AutoModel": "modeling.Mine"})
    return folder


def of_two_labels(folder: Path) -> Path:
    return save_cross_encoder(folder / "model", labels=2)


def of_decoder(folder: Path) -> Path:
    change_json(bare(folder) / "config.json", architectures=["Qwen3ForSequenceClassification"])
    return folder / "model"


def with_activation(folder: Path) -> Path:
    change_json(bare(folder) / "config.json", sentence_transformers={"activation_fn": "torch.hub.list"})
    return folder / "model"


def by_cosine(folder: Path) -> Path:
    change_json(of_autoencoder(folder) / "config_sentence_transformers.json", similarity_fn_name="cosine")
    return folder / "model"


def by_mean(folder: Path) -> Path:
    change_json(of_tokens()(folder) / "config_sentence_transformers.json", similarity_fn_name="meanmaxsim")
    return folder / "model"


def by_date(folder: Path) -> Path:
    (masked(folder) / "chat_template.jinja").write_text("{{ strftime_now('%d') }}")
    return folder / "model"


@pytest.mark.parametrize(
    ("kind", "build", "says"),
    [
        (RerankSettings, lambda folder: code(bare(folder)), "has auto_map: the model needs its own code"),
        (SparseSettings, lambda folder: code(masked(folder)), "has auto_map: the model needs its own code"),
        (LateSettings, lambda folder: code(colbert(folder)), "has auto_map: the model needs its own code"),
        (RerankSettings, of_two_labels, "has 2 labels; a score is one number"),
        (RerankSettings, of_decoder, "expected a folder with modules.json, or a model …ForSequence"),
        (RerankSettings, with_activation, r"has the activation torch\.hub\.list; known are those of torch\.nn"),
        (RerankSettings, masked, "expected a folder with modules.json"),
        (SparseSettings, by_cosine, "compares texts by 'cosine'; sparse systems have dot products"),
        (SparseSettings, by_date, "writes the time, so no result would be the same again"),
        (LateSettings, by_mean, "wants the similarity 'meanmaxsim', and only maxsim is known"),
        (LateSettings, of_autoencoder, "this is a SparseEncoder, no MultiVectorEncoder; a system of family sparse takes such"),
    ],
)
def test_a_folder_is_refused_before_anything_is_loaded(
    kind: Any, build: Callable[[Path], Path], says: str, tmp_path: Path
) -> None:
    assert re.search(says, str(problem_with(by(kind, build(tmp_path)), list)))


def test_an_argument_that_no_class_has_is_named(tmp_path: Path) -> None:
    wrong = by(RerankSettings, bare(tmp_path), query_prefix="w1 ")
    assert "arguments has query_prefix; known are device, batch_texts" in str(problem_with(wrong, list))


def test_the_record_has_digests_of_the_folder_and_of_the_code(tmp_path: Path) -> None:
    settings, record = by(SparseSettings, masked(tmp_path)), tmp_path / "record.json"
    fetch_model(system=settings, configured=None, output_path=str(record), job=Job(tmp_path))
    held = read_json(record)
    assert (held["encoder"], held["model"]) == ("sentence-transformers", str(tmp_path / "model"))
    assert {"model.safetensors", "beirflow/extensions/sentence_transformers/terms.py"} < {*held["files"]}


def test_a_classifier_whose_files_lack_weights_is_refused(tmp_path: Path) -> None:
    folder = bare(tmp_path)
    change_weights(folder, lambda weights: {name: each for name, each in weights.items() if name != "classifier.weight"})
    with pytest.raises(ModelError, match="each time it is loaded: its files lack weights"):
        load_scorer(by(RerankSettings, folder), **ON).scores(PAIRS)


def with_entry(family: Family, settings: Any, says: str) -> Any:
    """The settings with the key that a refusal names, pasted into the entry as it is."""
    problem = family.problem(settings)
    assert problem
    assert re.search(says, problem.problem)
    (key,) = re.findall("Or add `(.*)`, so that this library itself computes the model", problem.problem)
    entry = {"family": family.name, "model": settings.model, **({"first": settings.first} if family is RERANK else {})}
    TypeAdapter(system_model()).validate_python(entry | yaml.safe_load(f"{{{key}}}"))
    return replace(settings, **yaml.safe_load(f"{{{key}}}"))


WITHOUT = """
from beirflow.families.rerank.family import FAMILY
from beirflow.families.rerank.settings import RerankSettings
own = {"encoder": "sentence-transformers", "model": "/m"}
print(json.dumps([FAMILY.problem(RerankSettings("s", **each)).problem for each in (own, {"model": sys.argv[3]})]))
"""


def test_the_core_alone_refuses_the_word_and_offers_nothing(tmp_path: Path) -> None:
    word, folder = without_extension("sentence_transformers", tmp_path / "extensions", WITHOUT, str(pooled_elsewhere(tmp_path)))
    assert "'sentence-transformers' names no class; expected package.module:Class" in word
    assert "config.json cannot be read" in folder
    assert "so that this library" not in folder
