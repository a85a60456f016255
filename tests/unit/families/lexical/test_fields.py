"""Lexical systems in the configuration: what they may say, what is said when they say something else."""

from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.config.systems import catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.families.lexical import LexicalSettings
from beirflow.families.postings.analyzer import analyzer_of
from refusals import problems_of

KEYS = "family, trained_on, k1, b, fields, analyzer, ties, expansion, weights, query_weights"
FIELDS = "['contents'], ['title', 'text'], ['text'], ['title']"
GIVEN = {"path": "/x/{dataset}.jsonl"}


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ({"k1": -0.1}, ["k1: found -0.1", "at least 0"]),
        ({"k1": float("inf")}, ["k1: found inf", "expected a number"]),
        ({"k1": True}, ["k1: found True", "number"]),
        ({"b": 1.1}, ["b: found 1.1", "at most 1"]),
        ({"fields": "contents"}, ["fields: found 'contents'", f"allowed are {FIELDS}"]),
        ({"ties": "ascendign"}, ["ties: found 'ascendign'", "allowed are ascending, descending", "did you mean 'ascending'?"]),
        ({"field": ["text"]}, ["field: found 'field'", f"no such key here, allowed are {KEYS}", "did you mean 'fields'?"]),
        ({"family": "lexicl"}, ["family: found 'lexicl'", "allowed are dense, lexical", "did you mean 'lexical'?"]),
        ({"family": None}, ["family: found nothing", "allowed are dense, lexical"]),
        (
            {"family": "dense", "model": "m", "k1": 0.9},
            ["k1: found 'k1'", "no such key here, allowed are family, trained_on, model", "; it is a setting of lexical systems"],
        ),
        ({"model": "m", "similarity": "dot"}, ["model: found 'model'", "similarity: found 'similarity'"]),
        ({"expansion": {}}, ["expansion.model: missing", "this key is required"]),
        ({"expansion": {"model": "m", "top_p": 0}}, ["expansion.top_p: found 0"]),
        ({"expansion": GIVEN | {"model": "m"}}, ["expansion.model: found 'model'", "allowed are path, join"]),
        ({"expansion": {"path": "x.csv"}}, ["expansion.path: found 'x.csv'", "a file of JSON lines"]),
        ({"weights": GIVEN | {"max_length": 3}}, ["weights.max_length: found 'max_length'", "allowed are path, scale"]),
        (
            {"query_weights": "bm25", "fields": ["title", "text"]},
            ["query_weights: found 'bm25'", "use fields: [contents]"],
        ),
        ({"expansion": GIVEN, "weights": GIVEN}, ["weights: ", "weighed words cannot be combined with queries"]),
        ({"weights": GIVEN, "fields": ["text"]}, ["fields: ", "words are weighed in title and text"]),
        (
            {"expansion": GIVEN | {"join": "field"}, "fields": ["title", "text"]},
            ["fields: ", "with a field of queries, title and text are one field"],
        ),
        ({"expansion": {"model": "owner/name"}}, ["expansion.model: ", "needs 'revision'"]),
        (
            {"expansion": GIVEN},
            ["expansion.path: ", "no file /x/nfcorpus.jsonl, which would be what is added to documents on 'nfcorpus'"],
        ),
        ({"weights": {"path": "/dev/null.jsonl"}}, ["weights.path: ", "there is no file /dev/null.jsonl"]),
    ],
)
def test_settings_that_mean_nothing_or_do_not_go_together_are_refused(entry: dict[str, Any], parts: list[str]) -> None:
    systems = {"mine": {"family": "lexical", **entry}}
    said = problems_of({"systems": ["mine"], "datasets": ["nfcorpus"], "custom": {"systems": systems}})
    assert all(line.startswith("custom.systems.mine.") for line in said)
    assert [part for part in parts if part not in "\n".join(said)] == []


def test_a_system_that_names_neither_family_nor_model_is_dense() -> None:
    said = "\n".join(problems_of({"custom": {"systems": {"mine": {"k1": 0.9}}}}))
    assert "k1: found 'k1'" in said
    assert "model: missing; this key is required" in said


def test_the_variants_of_the_catalogue_are_anserinis() -> None:
    systems = catalogue_systems()
    for name, fields in {"bm25": ["contents"], "bm25-multifield": ["title", "text"]}.items():
        assert systems[name].settings.for_dataset("nfcorpus") == LexicalSettings(name, 0.9, 0.4, fields)


def test_an_analyzer_of_no_extension_is_refused_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beirflow.families.postings.names.extensions", lambda: ())
    bm25 = {"systems": ["bm25"], "datasets": ["scifact", "miracl.fi", "miracl.sw"]}
    stated = {"mine": {"family": "lexical", "analyzer": "lucene-hungarian"}}
    needed = r"only lucene-english is here; those of other languages need an extension that has them \(docs/extensions\.md\)"
    of_datasets = f"bm25.analyzer: found 'lucene-finnish'; that of the language of miracl.fi; {needed}.*of miracl.sw; {needed}"
    with pytest.raises(ConfigError, match=f"(?s){of_datasets}"):
        load_experiment(bm25)
    with pytest.raises(ConfigError, match=f"mine.analyzer: found 'lucene-hungarian'; {needed}"):
        load_experiment({"systems": ["mine"], "datasets": ["scifact"], "custom": {"systems": stated}})
    assert load_experiment(bm25 | {"datasets": ["scifact"]}).analyzers("scifact") == ["lucene-english"]
    with pytest.raises(ConfigError, match="lucene-finnish is not here; those of other languages need an extension"):
        analyzer_of.__wrapped__("lucene-finnish")


def test_systems_share_what_is_the_same() -> None:
    writes = {"model": "owner/name", "revision": "0" * 40}
    entries = {
        "appended": {"expansion": writes},
        "fielded": {"expansion": {**writes, "join": "field"}},
        "tuned": {"expansion": writes, "k1": 1.2},
        "fewer": {"expansion": {**writes, "queries": 20}},
        "given": {"expansion": {"path": "/x/{dataset}.jsonl"}},
        "weighted": {"weights": writes},
    }
    systems = {name: {"family": "lexical", **entry} for name, entry in entries.items()}
    experiment = load_experiment({"custom": {"systems": systems}})
    found = {name: experiment.expansions.of_system(name) for name in entries}
    catalogue = load_experiment({}).expansions
    assert found["appended"] == found["fielded"] == found["tuned"] != found["fewer"]
    assert experiment.expansions.of_kind("queries") == [*catalogue.of_kind("queries"), *found["appended"], *found["fewer"]]
    assert experiment.expansions.of_kind("weights") == [*catalogue.of_kind("weights"), *found["weighted"]]
    assert experiment.expansions.of_kind("given") == found["given"]
    assert experiment.expansions.of_system("bm25") == []
    indexes = {name: experiment.in_paths(name, "scifact")["analyzer"] for name in (*entries, "bm25")}
    assert indexes["bm25"] == "lucene-english"
    assert indexes["appended"] == indexes["tuned"]
    assert len(set(indexes.values())) == len(indexes) - 1
    assert experiment.expansions.of_index(indexes["fielded"]) == found["appended"]
