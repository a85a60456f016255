"""Lexical systems in the configuration: what they may say, what is said when they say something else."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.config.systems import catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.families.lexical import LexicalSettings
from beirflow.families.postings.analyzer import analyzer_of
from beirflow.models.settings import EncoderSettings
from refusals import problems_of

KEYS = "family, trained_on, k1, b, fields, ties, analyzer, query_weights, expansion, weights"
FIELDS = "['contents'], ['title', 'text'], ['text'], ['title']"


def problems_of_system(entry: dict[str, Any]) -> str:
    """List the problems of a system of the user's own."""
    return "\n".join(problems_of({"custom": {"systems": {"mine": entry}}}))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("k1", -0.1, ["k1: found -0.1", "at least 0"]),
        ("k1", float("inf"), ["k1: found inf", "expected a number"]),
        ("k1", float("nan"), ["k1: found nan"]),
        ("k1", True, ["k1: found True", "number"]),
        ("b", 1.1, ["b: found 1.1", "at most 1"]),
        ("fields", ["titel"], ["fields: found ['titel']", "did you mean \"['title']\"?"]),
        ("fields", [], ["fields: found []", f"allowed are {FIELDS}"]),
        ("fields", "contents", ["fields: found 'contents'", f"allowed are {FIELDS}"]),
        ("analyser", "lucene-en", ["analyser: found 'analyser'; no such key here", "did you mean 'analyzer'?"]),
        ("ties", "ascendign", ["ties: found 'ascendign'", "allowed are ascending, descending", "did you mean 'ascending'?"]),
        ("field", ["contents"], ["field: found 'field'", f"no such key here, allowed are {KEYS}", "did you mean 'fields'?"]),
        ("K1", 0.9, ["K1: found 'K1'", f"no such key here, allowed are {KEYS}", "did you mean 'k1'?"]),
        ("model", "bert", ["model: found 'model'", f"no such key here, allowed are {KEYS}"]),
    ],
)
def test_a_setting_that_means_nothing_is_refused(key: str, value: object, expected: list[str]) -> None:
    said = problems_of_system({"family": "lexical", key: value})
    assert said.startswith("custom.systems.mine.")
    assert said.count("\n") == 0
    for part in expected:
        assert part in said


def test_numbers_mean_the_same_in_every_schema() -> None:
    """Also in one that another refers to: 10.0 is no count, and not-a-number is no number."""
    assert "max_length: found 10.0; expected a whole number" in problems_of_system({"model": "m", "max_length": 10.0})


@pytest.mark.parametrize(("found", "meant"), [("BM25", "bm25"), ("bm-25", "bm25"), ("bm25multifield", "bm25-multifield")])
def test_the_nearest_system_is_named_in_whichever_case(found: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"systems: found '{found}'; .*did you mean '{meant}'"):
        load_experiment({"systems": [found]})


OF_FAMILIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"family": "lexicl"}, ["family: found 'lexicl'", "allowed are dense, lexical", "did you mean 'lexical'?"]),
    ({"family": None}, ["family: found nothing", "allowed are dense, lexical"]),
    ({"k1": 0.9}, ["k1: found 'k1'", "model: missing; this key is required"]),
    (
        {"family": "dense", "model": "m", "k1": 0.9},
        ["k1: found 'k1'", "no such key here, allowed are family, trained_on, encoder", "; it is a setting of lexical systems"],
    ),
    ({"model": "m", "fields": ["text"]}, ["fields: found 'fields'", "no such key here, allowed are family, trained_on, encoder"]),
    ({"family": "lexical", "model": "m", "similarity": "dot"}, ["model: found 'model'", "similarity: found 'similarity'"]),
]
OF_ADDITIONS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("expansion", {}, ["expansion.model: missing", "this key is required"]),
    ("expansion", {"model": "m", "queries": 0}, ["expansion.queries: found 0", "at least 1"]),
    ("expansion", {"model": "m", "top_p": 0}, ["expansion.top_p: found 0"]),
    ("expansion", {"model": "m", "join": "apend"}, ["expansion.join: found 'apend'", "did you mean 'append'?"]),
    ("expansion", {"path": "x.jsonl", "model": "m"}, ["expansion.model: found 'model'", "allowed are path, join"]),
    ("expansion", {"path": "x.csv"}, ["expansion.path: found 'x.csv'", "a file of JSON lines"]),
    ("weights", {"model": "m", "scale": "root"}, ["weights.scale: found 'root'", "allowed are sqrt, none"]),
    ("weights", {"path": "x.jsonl", "max_length": 3}, ["weights.max_length: found 'max_length'", "allowed are path, scale"]),
]


@pytest.mark.parametrize(
    ("entry", "expected"), [*OF_FAMILIES, *(({"family": "lexical", key: added}, says) for key, added, says in OF_ADDITIONS)]
)
def test_each_family_and_what_is_added_have_keys_of_their_own(entry: dict[str, Any], expected: list[str]) -> None:
    said = problems_of_system(entry)
    for part in expected:
        assert part in said


def test_a_lexical_system_needs_nothing_but_its_family() -> None:
    system = load_experiment({"custom": {"systems": {"mine": {"family": "lexical"}}}}).systems["mine"]
    assert (system.name, system.family) == ("mine", "lexical")
    assert system.settings.for_dataset("scifact") == LexicalSettings(
        "mine", 0.9, 0.4, ("contents",), "lucene-english", "ascending"
    )


@pytest.mark.parametrize(("key", "value"), [("k1", 0), ("k1", 1000), ("b", 0), ("b", 1), ("fields", ["title"])])
def test_what_is_just_allowed_is_taken(key: str, value: object) -> None:
    experiment = load_experiment({"custom": {"systems": {"mine": {"family": "lexical", key: value}}}})
    assert experiment.settings("mine")[key] == value


def test_a_system_without_a_family_stays_dense() -> None:
    entry = {"model": "owner/name", "revision": "0" * 40, "pooling": "cls"}
    experiments = [load_experiment({"custom": {"systems": {"mine": given}}}) for given in (entry, {"family": "dense", **entry})]
    assert experiments[0].systems["mine"] == experiments[1].systems["mine"]
    assert experiments[0].systems["mine"].family == "dense"
    assert EncoderSettings(**experiments[0].encoding("mine", "nfcorpus")).pooling == "cls"


def test_systems_of_a_family_are_those_of_catalogue_and_configuration() -> None:
    experiment = load_experiment({"custom": {"systems": {"mine": {"family": "lexical"}, "other": {"model": "m"}}}})
    catalogue = load_experiment({}).systems_of("lexical")
    assert catalogue[:3] == ["bm25", "bm25qs", "bm25-multifield"]
    assert experiment.systems_of("lexical") == [*catalogue, "mine"]
    assert "other" in experiment.systems_of("dense")
    assert set(experiment.systems_of(*FAMILIES)) == set(experiment.systems)
    assert "bm25" not in experiment.systems_with_models


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
    ("system", "dataset", "expected"),
    [
        ("bm25", "nfcorpus", {"NDCG@10": 0.3218, "Recall@100": 0.2457}),
        ("bm25-multifield", "nfcorpus", {"NDCG@10": 0.3254, "Recall@100": 0.2500}),
        ("bm25", "scifact", {"NDCG@10": 0.6789, "Recall@100": 0.9253}),
        ("bm25-multifield", "scifact", {"NDCG@10": 0.6647, "Recall@100": 0.9076}),
        ("bm25-multifield", "arguana", {"NDCG@10": 0.4142}),  # not the paper's, which has self matches
    ],
)
def test_published_scores_are_pyserinis(system: str, dataset: str, expected: dict[str, float]) -> None:
    for measure, value in expected.items():
        reference = load_catalogue().reference(system, dataset, measure)
        assert (reference.value, reference.source, reference.decimals) == (value, "pyserini", 4)


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


def test_one_file_is_not_for_two_datasets(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.touch()
    system = {"family": "lexical", "expansion": {"path": str(file)}}
    config = {"systems": ["mine"], "datasets": ["nfcorpus", "scifact"], "custom": {"systems": {"mine": system}}}
    with pytest.raises(ConfigError, match=r"'nfcorpus' and on 'scifact'; write \{dataset\} where the name is"):
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
