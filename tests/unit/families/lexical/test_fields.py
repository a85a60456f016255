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


def problems_of_system(entry: dict[str, Any]) -> str:
    """List the problems of a system of the user's own."""
    return "\n".join(problems_of({"custom": {"systems": {"mine": entry}}}))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("k1", -0.1, ["k1: found -0.1", "at least 0"]),
        ("k1", float("inf"), ["k1: found inf", "expected a number"]),
        ("k1", True, ["k1: found True", "number"]),
        ("b", 1.1, ["b: found 1.1", "at most 1"]),
        ("fields", "contents", ["fields: found 'contents'", f"allowed are {FIELDS}"]),
        ("ties", "ascendign", ["ties: found 'ascendign'", "allowed are ascending, descending", "did you mean 'ascending'?"]),
        ("field", ["contents"], ["field: found 'field'", f"no such key here, allowed are {KEYS}", "did you mean 'fields'?"]),
    ],
)
def test_a_setting_that_means_nothing_is_refused(key: str, value: object, expected: list[str]) -> None:
    said = problems_of_system({"family": "lexical", key: value})
    assert said.startswith("custom.systems.mine.")
    assert said.count("\n") == 0
    for part in expected:
        assert part in said


OF_FAMILIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"family": "lexicl"}, ["family: found 'lexicl'", "allowed are dense, lexical", "did you mean 'lexical'?"]),
    ({"family": None}, ["family: found nothing", "allowed are dense, lexical"]),
    ({"k1": 0.9}, ["k1: found 'k1'", "model: missing; this key is required"]),
    (
        {"family": "dense", "model": "m", "k1": 0.9},
        ["k1: found 'k1'", "no such key here, allowed are family, trained_on, model", "; it is a setting of lexical systems"],
    ),
    ({"family": "lexical", "model": "m", "similarity": "dot"}, ["model: found 'model'", "similarity: found 'similarity'"]),
]
OF_ADDITIONS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("expansion", {}, ["expansion.model: missing", "this key is required"]),
    ("expansion", {"model": "m", "top_p": 0}, ["expansion.top_p: found 0"]),
    ("expansion", {"path": "x.jsonl", "model": "m"}, ["expansion.model: found 'model'", "allowed are path, join"]),
    ("expansion", {"path": "x.csv"}, ["expansion.path: found 'x.csv'", "a file of JSON lines"]),
    ("weights", {"path": "x.jsonl", "max_length": 3}, ["weights.max_length: found 'max_length'", "allowed are path, scale"]),
]


@pytest.mark.parametrize(
    ("entry", "expected"), [*OF_FAMILIES, *(({"family": "lexical", key: added}, says) for key, added, says in OF_ADDITIONS)]
)
def test_each_family_and_what_is_added_have_keys_of_their_own(entry: dict[str, Any], expected: list[str]) -> None:
    said = problems_of_system(entry)
    for part in expected:
        assert part in said


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


def test_queries_are_not_weighed_in_two_fields() -> None:
    entry = {"family": "lexical", "query_weights": "bm25", "fields": ["title", "text"]}
    with pytest.raises(ConfigError, match=r"query_weights: found 'bm25'.* use fields: \[contents\]"):
        load_experiment({"systems": ["mine"], "datasets": ["scifact"], "custom": {"systems": {"mine": entry}}})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {"expansion": {"path": "/x/{dataset}.jsonl"}, "weights": {"path": "/x/{dataset}.jsonl"}},
            "mine.weights: .*; weighed words cannot be combined with queries",
        ),
        ({"weights": {"path": "/x/{dataset}.jsonl"}, "fields": ["text"]}, "mine.fields: .*; words are weighed in title and text"),
        (
            {"expansion": {"path": "/x/{dataset}.jsonl", "join": "field"}, "fields": ["title", "text"]},
            "mine.fields: .*; with a field of queries, title and text are one field",
        ),
        ({"expansion": {"model": "owner/name"}}, r"mine\.expansion\.model: .* needs 'revision'"),
        (
            {"expansion": {"path": "/x/{dataset}.jsonl"}},
            r"mine\.expansion\.path: .* no file /x/nfcorpus\.jsonl, which would be what is added to documents on 'nfcorpus'",
        ),
        ({"weights": {"path": "/dev/null.jsonl"}}, r"mine\.weights\.path: .* there is no file /dev/null\.jsonl"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_runs(entry: dict[str, Any], expected: str) -> None:
    config = {"systems": ["mine"], "datasets": ["nfcorpus"], "custom": {"systems": {"mine": {"family": "lexical", **entry}}}}
    with pytest.raises(ConfigError, match=expected):
        load_experiment(config)


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
