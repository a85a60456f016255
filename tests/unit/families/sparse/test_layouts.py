"""Folders of sparse models are understood or refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import ModelError
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.models.model_files import model_files

MODULES = "sentence_transformers.sparse_encoder.modules."


def write(folder: Path, files: dict[str, Any]) -> Path:
    """A folder with files: JSON, or nothing in them; None for one that is removed."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        if content is None:
            (folder / name).unlink()
    return folder


def modules(*paths_and_types: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"idx": i, "name": str(i), "path": path, "type": MODULES + kind} for i, (path, kind) in enumerate(paths_and_types)]


MODEL = {"config.json": {}, "tokenizer.json": {}, "model.safetensors": ""}
SPARSE = {"model_type": "SparseEncoder"}
ENCODER: dict[str, Any] = {
    **MODEL,
    "config_sentence_transformers.json": SPARSE,
    "modules.json": modules(("", "MLMTransformer"), ("1_SpladePooling", "SpladePooling")),
    "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": None},
}
ROUTES = {
    "types": {
        "query_0_Static": MODULES + "SparseStaticEmbedding",
        "": MODULES + "MLMTransformer",
        "document_1_SpladePooling": MODULES + "SpladePooling",
    },
    "structure": {"query": ["query_0_Static"], "document": ["", "document_1_SpladePooling"]},
    "parameters": {"default_route": "document"},
}
ROUTED: dict[str, Any] = {
    **MODEL,
    "config_sentence_transformers.json": SPARSE,
    "modules.json": modules(("", "Router")),
    "router_config.json": ROUTES,
    "document_1_SpladePooling/config.json": {"pooling_strategy": "max"},
    "query_0_Static/tokenizer.json": {},
    "query_0_Static/config.json": {"path": "idf.json"},
    "query_0_Static/idf.json": {},
}


def read(folder: Path, **settings: Any) -> Any:
    return read_parts(SparseSettings("s", model=str(folder), **settings))


def test_routes_may_name_the_folder_itself(tmp_path: Path) -> None:
    write(tmp_path, ROUTED)
    parts = read(tmp_path)
    assert (parts.documents.kind, parts.documents.folder) == ("splade", tmp_path)
    assert (parts.queries.kind, parts.queries.weights) == ("table", (tmp_path / "query_0_Static/idf.json",))
    names = {path.relative_to(tmp_path).as_posix() for path in model_files(SparseSettings("s", model=str(tmp_path)))}
    assert names == set(ROUTED)


def test_what_the_system_says_goes_before_the_folder(tmp_path: Path) -> None:
    prompts = {
        "config_sentence_transformers.json": SPARSE | {"prompts": {"query": "q: ", "document": "p: "}, "max_active_dims": 9}
    }
    write(tmp_path, ENCODER | prompts | {"sentence_bert_config.json": {"max_seq_length": 77}})
    parts = read(tmp_path)
    assert [(part.prefix, part.max_length, part.most_terms) for part in parts] == [("p: ", 77, 9), ("q: ", 77, 9)]
    parts = read(tmp_path, query_prefix="", max_length=50, query_max_length=20, most_terms=3, pooling="sum")
    found = [(part.prefix, part.max_length, part.most_terms, part.pooling) for part in parts]
    assert found == [("p: ", 50, 3, "sum"), ("", 20, 3, "sum")]
    said = {"max_seq_length": 77, "query_length": 9, "document_length": 20}
    write(tmp_path, {"sentence_bert_config.json": {}, "sentence_roberta_config.json": said})
    assert [part.max_length for part in read(tmp_path)] == [20, 9]


@pytest.mark.parametrize("prompts", [{"query": "q: ", "passage": "p: "}, {"query": "q: ", "web": "p: "}])
def test_a_prompt_that_sentence_transformers_would_leave_out_has_to_be_said(tmp_path: Path, prompts: dict[str, str]) -> None:
    library = {"prompts": prompts, "default_prompt_name": next(reversed(prompts))}
    write(tmp_path, ENCODER | {"config_sentence_transformers.json": SPARSE | library})
    with pytest.raises(ModelError, match=r"system s: .* 6 writes none before documents .*Set document_prefix"):
        read(tmp_path)
    assert [part.prefix for part in read(tmp_path, document_prefix="p: ")] == ["p: ", "q: "]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"modules.json": modules(("", "MLMTransformer"))}, "MLMTransformer for documents; expected a masked language model"),
        ({"modules.json": modules(("", "Transformer"), ("1_SpladePooling", "SpladePooling"))}, "feature-extraction"),
        ({"modules.json": modules(("", "Transformer"), ("1_Pooling", "Pooling"))}, "the modules Transformer, Pooling"),
        ({"modules.json": modules(("", "MLMTransformer"), ("../x", "SpladePooling"))}, "outside the folder"),
        ({"modules.json": "{"}, "cannot be read as JSON"),
        (
            {"config_sentence_transformers.json": SPARSE | {"max_active_dims": "9"}},
            "max_active_dims is '9', which is not a number",
        ),
        ({"1_SpladePooling/config.json": {"pooling_strategy": "mean"}}, "pooling_strategy 'mean'; expected max or sum"),
        ({"1_SpladePooling/config.json": {"activation_function": "gelu"}}, "activation_function 'gelu'"),
        ({"config_sentence_transformers.json": SPARSE | {"similarity_fn_name": "cosine"}}, "compares texts by 'cosine'"),
        ({"sentence_bert_config.json": {"do_lower_case": True}}, "do_lower_case"),
        ({"sentence_bert_config.json": {"processing_kwargs": {"text": {"max_length": 9}}}}, "has processing_kwargs, which"),
        ({"config_sentence_transformers.json": {"max_active_dims": 9}}, "has no model_type, so .* for a SentenceTransformer"),
        ({"config_sentence_transformers.json": {"model_type": "CrossEncoder"}}, "this is a CrossEncoder, no SparseEncoder"),
        ({"modules.json": [{"path": "", "type": "mine.MLMTransformer"}]}, r"modules mine\.MLMTransformer for documents; expec"),
        ({"config.json": {"model_type": "big_bird"}}, "a model of type big_bird gives a text different vectors"),
        ({"adapter_config.json": {}}, "merge it into the model"),
        *(({name: None}, name.partition(".")[0]) for name in (*MODEL, "1_SpladePooling/config.json")),
    ],
)
def test_what_is_not_understood_or_missing_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    write(tmp_path, ENCODER)
    assert read(tmp_path).documents.kind == "splade"
    write(tmp_path, changes)
    with pytest.raises(ModelError, match=says) as caught:
        read(tmp_path)
    assert str(caught.value).startswith("system s")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"structure": {"document": ROUTES["structure"]["document"]}}, "no route for queries; it has document, and 'query' was"),
        ({"types": None}, "lacks types and structure, which define the routes"),
        ({"parameters": {"route_mappings": {"(None, 'text')": "other"}}}, "has no route for documents; it has query, document"),
        ({"structure": {**ROUTES["structure"], "query": ["document_1_SpladePooling"]}}, "the modules SpladePooling"),
    ],
)
def test_routes_that_are_not_understood_are_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    write(tmp_path, ROUTED | {"router_config.json": ROUTES | changes})
    with pytest.raises(ModelError, match=says):
        read(tmp_path)


def test_a_table_that_is_elsewhere_is_refused(tmp_path: Path) -> None:
    write(tmp_path, ROUTED)
    (tmp_path / "query_0_Static/idf.json").unlink()
    with pytest.raises(ModelError, match=r"names the weights 'idf\.json', which are neither in"):
        read(tmp_path)
    write(tmp_path, {"idf.json": {}})
    assert read(tmp_path).queries.weights == (tmp_path / "idf.json",)
