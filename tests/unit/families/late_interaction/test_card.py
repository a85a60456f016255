"""Folders of models are understood, or refused with the reason."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import ModelError
from beirflow.families.late_interaction.card import PUNCTUATION, read_token_card
from tiny_bert import save_tiny_bert
from tiny_colbert import METADATA, save_colbert, save_pylate
from zoo import change_json

LIBRARY = "config_sentence_transformers.json"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_colbert(folder / "colbert")
    save_pylate(folder / "pylate", dense=2)
    return folder


@pytest.fixture
def colbert(once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once / "colbert", tmp_path / "colbert"))


@pytest.fixture
def pylate(once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(once / "pylate", tmp_path / "pylate"))


def test_a_colbert_says_its_lengths_and_markers_or_has_to_be_told(colbert: Path) -> None:
    card = read_token_card(colbert)
    assert (card.readings["queries"].marker, card.readings["documents"].marker) == ("[unused0]", "[unused1]")
    assert card.readings["queries"].expansion is not None
    assert (
        card.readings["queries"].max_length,
        card.readings["queries"].expansion.length,
        card.readings["documents"].max_length,
    ) == (12, 12, 20)
    assert (card.readings["queries"].skipped, card.readings["documents"].skipped) == ((), PUNCTUATION)
    assert [step.kind for step in card.readings["documents"].steps] == ["transformer", "dense", "normalize"]
    assert card.open == {}
    (colbert / "artifact.metadata").unlink()
    card = read_token_card(colbert)
    assert card.readings["queries"].max_length == 32
    assert "has no doc_maxlen" in card.open["document_length"]


def test_modules_of_a_dense_model_beside_a_colbert_are_left_aside(colbert: Path) -> None:
    """As in mxbai-colbert-large-v1."""
    expected = read_token_card(colbert)
    (colbert / "modules.json").write_text(json.dumps([{"path": "", "type": "sentence_transformers.models.Transformer"}]))
    assert read_token_card(colbert) == expected
    (colbert / "artifact.metadata").unlink()
    with pytest.raises(ModelError, match=r"modules\.json has Transformer, which give one vector per text"):
        read_token_card(colbert)


def test_pylate_says_its_lengths_and_markers(pylate: Path) -> None:
    card = read_token_card(pylate)
    assert (card.readings["queries"].max_length, card.readings["documents"].max_length, card.readings["documents"].marker) == (
        12,
        20,
        "[unused1]",
    )
    assert [step.kind for step in card.readings["queries"].steps] == ["transformer", "dense", "dense", "normalize"]
    assert card.readings["documents"].skipped == PUNCTUATION
    change_json(pylate / LIBRARY, query_length=None, do_query_expansion=None, skiplist_words=["a"], document_length=None)
    card = read_token_card(pylate)
    assert (card.readings["queries"].max_length, card.readings["documents"].max_length, card.readings["documents"].skipped) == (
        32,
        19,
        ("a",),
    )


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        (LIBRARY, {"similarity_fn_name": "meanmaxsim"}, "wants the similarity 'meanmaxsim', and only maxsim is known"),
        (LIBRARY, {"model_type": "SparseEncoder"}, "says that this is a SparseEncoder.*a system of family sparse takes such"),
        (LIBRARY, {"query_length": -1}, "query_length is -1, which is not a number of tokens"),
        (LIBRARY, {"query_length": 10**9}, "query_length is 1000000000, which is not a number of tokens"),
        (LIBRARY, {"query_expansion": {"strategy": "never"}}, "query_expansion is .*known are the strategies fixed and min"),
        (LIBRARY, {"query_expansion": {"strategy": "min"}}, "query_expansion has no length"),
        (LIBRARY, {"skiplist_words": "abc"}, "skiplist_words are no list of tokens"),
        (LIBRARY, {"prompts": {"query": 3}}, "prompts are not an object of texts"),
        ("2_Dense/config.json", {"module_input_name": "sentence_embedding"}, "2_Dense: works on sentence_embedding, token_embed"),
        ("2_Dense/config.json", {"activation_function": "evil.Run"}, "the activation is evil.Run"),
        ("config.json", {"auto_map": {"AutoModel": "x.Y"}}, "has auto_map"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_reason(pylate: Path, file: str, change: Any, reason: str) -> None:
    change_json(pylate / file, **change)
    with pytest.raises(ModelError, match=reason):
        read_token_card(pylate)


def test_a_multi_vector_encoder_whose_type_is_missing_is_refused(pylate: Path) -> None:
    """The library would take it for a SentenceTransformer, and put lengths and expansions of its own into it."""
    modules = json.loads((pylate / "modules.json").read_text())
    mask = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
    modules += [{"idx": 3, "name": "3", "path": "3_Mask", "type": mask}]
    (pylate / "modules.json").write_text(
        json.dumps(modules).replace("pylate.models.Dense.Dense", "sentence_transformers.models.Dense")
    )
    (pylate / "3_Mask").mkdir()
    (pylate / "3_Mask/config.json").write_text("{}")
    (pylate / LIBRARY).unlink()
    with pytest.raises(
        ModelError, match=r'has no model_type, so .* a SentenceTransformer.* write "model_type": "MultiVectorEncoder"'
    ):
        read_token_card(pylate)


def test_a_mask_whose_configuration_is_missing_is_refused_and_an_empty_one_hides_no_token(pylate: Path) -> None:
    """The library would count the vectors of all tokens, whatever the model was trained with."""
    modules = json.loads((pylate / "modules.json").read_text())
    mask = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
    normalize = "sentence_transformers.base.modules.normalize.Normalize"
    modules += [
        {"idx": n, "name": str(n), "path": path, "type": kind}
        for n, (path, kind) in enumerate([("3_Mask", mask), ("4_Normalize", normalize)], 3)
    ]
    (pylate / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match=r"3_Mask has no config\.json, but the files of the model name a MultiVectorMask there"):
        read_token_card(pylate)
    (pylate / "3_Mask").mkdir()
    (pylate / "3_Mask/config.json").write_text("{}")
    assert read_token_card(pylate).readings["documents"].skipped == ()


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("sentence_transformers.models.Pooling", "one vector per text and none per token; a system of family dense takes such"),
        ("sentence_transformers.models.HierarchicalTokenPooling", "HierarchicalTokenPooling, which is not known here; known are"),
        ("pylate_evil.models.Dense", "pylate_evil.models.Dense, which is not known here"),
    ],
)
def test_a_module_that_is_not_known_is_refused(pylate: Path, module: str, reason: str) -> None:
    text = (pylate / "modules.json").read_text()
    (pylate / "modules.json").write_text(text.replace("pylate.models.Dense.Dense", module, 1))
    with pytest.raises(ModelError, match=reason):
        read_token_card(pylate)
    (pylate / "modules.json").write_text("{}")
    with pytest.raises(ModelError, match="does not hold a list of modules"):
        read_token_card(pylate)


def test_models_of_other_families_are_refused(tmp_path: Path, colbert: Path) -> None:
    folder = save_tiny_bert(tmp_path / "bert")
    with pytest.raises(ModelError, match=r"neither modules\.json nor artifact\.metadata, and its config\.json does not name HF_"):
        read_token_card(folder)
    change_json(folder / "config.json", architectures=["BertForMaskedLM"])
    with pytest.raises(ModelError, match="a system of family sparse takes such models"):
        read_token_card(folder)
    change_json(colbert / "artifact.metadata", **METADATA, similarity="manhattan")
    with pytest.raises(ModelError, match="compares tokens by 'manhattan'; cosine and l2 are known"):
        read_token_card(colbert)
