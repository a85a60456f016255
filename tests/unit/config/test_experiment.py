"""The configuration: what it means, and what is said when it means nothing."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from beir_names import FIFTEEN, FORUMS
from beir_writer import write_beir, zip_folder
from beirflow.config.configuration import Configuration
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.config.models import keys_of as keys_of_class
from beirflow.config.readers import baseline
from beirflow.config.rule_inputs import gpu_share
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.catalogue import archive_urls
from refusals import problems_of
from tiny_colbert import save_colbert
from workflow_rules import encoding_of, params_of

ROOT = Path(__file__).parents[3]
DOCUMENTS = {"d1": "one", "d2": "two", "d3": "three"}


def write_dataset(folder: Path, split: str = "test") -> Path:
    return write_beir(folder, DOCUMENTS, {"q1": "one?"}, {"q1": {"d1": 1}}, split)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A dataset of three documents."""
    return write_dataset(tmp_path / "mine")


def with_datasets(datasets: dict[str, Any], **config: Any) -> Experiment:
    """An experiment on datasets of the user's own."""
    return load_experiment({"datasets": list(datasets), "custom": {"datasets": datasets}, **config})


def only_problem(config: dict[str, Any], *parts: str) -> str:
    """The only thing that is said about a configuration, which has these parts."""
    (problem,) = problems_of(config)
    assert [part for part in parts if part not in problem] == []
    return problem


def system(**entry: Any) -> dict[str, Any]:
    """A configuration with a system of the user's own, which is not chosen."""
    return {"custom": {"systems": {"x": entry}}}


def dataset(**entry: Any) -> dict[str, Any]:
    """A configuration with a dataset of the user's own, on which nothing runs."""
    return {"custom": {"datasets": {"x": entry}}}


LABELLED = {"path": "/no/such.jsonl", "form": "labelled", "labels": {"good": 2, "bad": 0}}
NANO = {"hub": "zeta-alpha-ai/NanoNFCorpus", "revision": "0" * 39 + "a"}


def test_the_shipped_configuration_is_contriever_on_the_fifteen_datasets_as_without_one() -> None:
    shipped = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    experiment = load_experiment(shipped)
    assert experiment.chosen_systems == ["contriever"]
    assert sorted(experiment.chosen_rows) == sorted(FIFTEEN)
    assert len(experiment.chosen_datasets) == len(FIFTEEN) - 1 + len(FORUMS)
    of_core = keys_of_class(Configuration)
    filled = {key: value for key, value in load_experiment({}).config.items() if key in of_core}  # extensions have keys too
    assert filled.pop("custom") == {}
    assert shipped.pop("custom") == {"systems": {}, "datasets": {}}
    assert {key: filled[key] for key in shipped} == shipped


def test_the_baseline_is_the_first_system_unless_another_is_named() -> None:
    systems = ["contriever-msmarco", "all-minilm-l6-v2"]
    experiments = [load_experiment({"systems": systems, "baseline": name}) for name in (None, systems[1])]
    assert [*map(baseline, experiments)] == systems


def test_further_judgements_are_of_a_corpus_and_there(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("")
    more = {"scifact": str(tmp_path / "more"), "nfcorpus": str(tmp_path / "more")}
    config = {"datasets": ["scifact"], "extra_judgements": more}
    assert load_experiment(config).extra_judgements == {"scifact": str(tmp_path / "more")}
    with pytest.raises(ConfigError, match=r"extra_judgements.scifakt: .* did you mean 'scifact'"):
        load_experiment({**config, "extra_judgements": {"scifakt": str(tmp_path / "more")}})
    with pytest.raises(ConfigError, match="an existing file"):
        load_experiment({**config, "extra_judgements": {"scifact": str(tmp_path / "gone")}})


def test_cqadupstack_is_twelve_corpora() -> None:
    experiment = load_experiment({"datasets": ["scifact", "cqadupstack"]})
    names = [f"cqadupstack-{forum}" for forum in FORUMS]
    assert experiment.chosen_rows == {"scifact": ["scifact"], "cqadupstack": names}
    assert experiment.chosen_datasets == ["scifact", *names]
    assert experiment.source_files(names[0]) == ["<results>/data/cqadupstack.zip"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"topk": 10}, ["topk: found 'topk'", "allowed are systems, datasets", "did you mean 'top_k'?"]),
        ({"custom": {"system": {}}}, ["custom.system:", "allowed are systems, datasets", "did you mean 'systems'?"]),
        (system(model="m", poling="cls"), ["custom.systems.x.poling", "'pooling'?"]),
        (system(), ["custom.systems.x.model", "required"]),
        ({"custom": {"systems": {"x": "bm25"}}}, ["x: found 'bm25'; expected keys with values, such as {base: bm25,"]),
        (system(approximate="y", index="hnsw", m=1, ef_construction=1, ef_search=1, stor=1), ["x.stor: found 'stor'; no such"]),
        ({"datasets": "scifact.sample-0"}, ["datasets: found 'scifact.sample-0'; a sample of scifact has a whole number of"]),
        (system(model="m", pooling="men"), ["x.pooling: found 'men'", "lasttoken, pooler", "'mean'?"]),
        (
            system(model="m", revision="main"),
            ["x.revision: found 'main'", "40 lowercase hex", "git ls-remote https://huggingface.co/"],
        ),
        (system(model="m", weights="../x.onnx"), ["x.weights: found '../x.onnx'", "onnx/model.onnx"]),
        (system(encoder="a:B"), ["custom.systems.x.similarity", "required"]),
        (system(encoder="a.B", similarity="dot"), ["x.encoder: found 'a.B'", "package.module:Class"]),
        (
            system(encoder="a:B", similarity="dot", pooling="cls"),
            ["custom.systems.x.pooling: found 'pooling'", "allowed are family, trained_on, encoder, arguments, similarity"],
        ),
        (
            system(encoder="sentence-transformers", similarity="dot"),
            ["custom.systems.x.model", "required"],
        ),
        *[
            (
                system(encoder="a:B", similarity="dot", arguments=arguments),
                [f"custom.systems.x.arguments.{found}; arguments are recorded; write ${{NAME}} for a password"],
            )
            for arguments, found in (
                ({"api_key": "s3cret"}, "api_key: found '…'"),
                ({"a": [{"url": "http://b:s3cr@et@h/v1"}]}, "a: found [{'url': 'http://h/v1'}]"),
                ({"url": "http://h/v1?key=s3cret"}, "url: found 'http://h/v1?key=…'"),
            )
        ],
        *[
            (
                system(encoder="a:B", similarity="dot", arguments=arguments),
                ["custom.systems.x.arguments.", "${NAME} is for secrets only"],
            )
            for arguments in ({"model": "${MODEL}"}, {"url": "http://${HOST}/v1"}, {"a": {"b": ["x${Y}"]}})
        ],
        (system(encoder="a:B", similarity="dot", arguments="http://b:s3@h"), ["found 'http://h'"]),
        (
            system(model="m", arguments={}),
            ["custom.systems.x.arguments:", "arguments needs encoder: sentence-transformers or"],
        ),
        (system(model="m", max_length=2), ["x.max_length: found 2", "at least 3"]),
        ({"datasets": ["sciafct"]}, ["datasets: found 'sciafct'", "allowed are msmarco,", "did you mean 'scifact'?"]),
        ({"datasets": ["scifact", "zzz"]}, ["datasets: found 'zzz'", "allowed are msmarco,", "custom.datasets"]),
        ({"datasets": []}, ["datasets: found []"]),
        ({"systems": ["contreiver"]}, ["systems: found 'contreiver'", "custom.systems", "did you mean 'contriever'?"]),
        ({"systems": ["contriever", "contriever"]}, ["systems: found ['contriever', 'contriever']", "duplicate entry"]),
        ({"top_k": "ten"}, ["top_k: found 'ten'", "a whole number"]),
        ({"top_k": 10.0, "cutoffs": [1]}, ["top_k: found 10.0", "a whole number"]),
        ({"cutoffs": [1, 2.5]}, ["cutoffs: found 2.5", "a whole number"]),
        ({"top_k": 50, "cutoffs": [10, 100]}, ["cutoffs: found [10, 100]", "at most top_k, which is 50", "or set cutoffs: [10]"]),
        ({"baseline": "contreiver"}, ["baseline: found 'contreiver'", "null and", "mean 'contriever'?"]),
        ({"baseline": "all-minilm-l6-v2"}, ["baseline: found 'all-minilm-l6-v2'", "allowed are null"]),
        ({"device": "gpu"}, ["device: found 'gpu'; allowed are auto, cuda, mps, cpu\n"]),
        ({"precision": "bf16"}, ["precision: found 'bf16'", "bfloat16", "did you mean 'bfloat16'?"]),
        ({"token_budget": 0}, ["token_budget: found 0; expected 'auto' or at least 1"]),
        ({"systems": "x", "custom": {"systems": [{"x": {}}]}}, ["custom.systems: found [{'x': {}}]; expected keys with values"]),
        ({"keep_archives": "no"}, ["found 'no'; expected true or false"]),
        ({"mirrors": ["mirror.example.org"]}, ["mirrors: found 'mirror.example.org'", "http or https URL"]),
        ({"chunk_documents": 10**400}, ["chunk_documents: found 1000", "expected a whole number of at most 18 digits"]),
        ({"prices": {"hour": float("inf")}}, ["prices.hour: found inf; expected a number"]),
        *(
            ({"mirrors": [url]}, ["mirrors: found"])
            for url in ("http://", "http://a b", "http://a.b\n", "ftp://a.b", "http:///x")
        ),
        ({"data_dir": "/no/such/folder"}, ["data_dir: found '/no/such/folder'", "existing folder", "null"]),
        *(
            ({"results": folder}, ["results: found"])
            for folder in ("~/x", "/", ".", "./", "..", ".git", ".snakemake/x", "workflow", "./workflow/x", "a\0")
        ),
        ({"pathvars": {"results": "~/x"}}, ["pathvars.results: found"]),
        ({"results": "mine", "pathvars": {"results": "yours"}}, ["results: found 'mine'; pathvars names the folder"]),
        *(({"results": path}, [f"results: found {path!r}; expected a folder"]) for path in (__file__, f"{__file__}/mine")),
        *(
            (dataset(**LABELLED | keys), [f"custom.datasets.x.{found}"])
            for keys, found in (
                ({"split": "dev"}, "split: found 'split'; no such key here"),
                ({"forums": ["a"]}, "forums: found 'forums'; no such key here"),
                ({"labels": {True: 1}}, "labels.True: found True"),
                ({"labels": {"good": 1.5}}, "labels.good: found 1.5"),
                ({"fields": {"titel": "t"}}, "fields.titel: found 'titel'"),
                ({"form": "beir"}, "labels: found 'labels'; labels needs form: labelled too"),
            )
        ),
        ({"datasets": ["x"], **dataset(**LABELLED)}, ["custom.datasets.x.path: found '/no/such.jsonl'", "expected a file"]),
        *(
            (dataset(**{**NANO, **keys}), [f"custom.datasets.x.{part}" if i == 0 else part for i, part in enumerate(parts)])
            for keys, *parts in (
                ({"revision": "main"}, "revision: found 'main'", "40 lowercase hex"),
                ({"hub": "NanoNFCorpus"}, "hub: found 'NanoNFCorpus'", "zeta-alpha-ai/NanoNFCorpus"),
                ({"path": "/data"}, "path: found 'path'; no such key here"),
                ({"forums": ["a"]}, "forums: found 'forums'; no such key here"),
                ({"qrels": {"hub": "a/b"}}, "qrels.revision", "required"),
            )
        ),
        (dataset(path="p", split="../../x"), ["custom.datasets.x.split: found '../../x'"]),
        (dataset(path="p", forums=["a"], shares_texts_with="fever"), ["found 'fever'; x has forums", "remove the key"]),
        ({"custom": {"systems": {"contriever": {"family": "lexical"}}}}, ["the catalogue has a system of this name"]),
        ({"command": {"audit": {"manifest_sha256": "abc"}}}, ["manifest_sha256: found 'abc'; expected 64 hexadecimal digits"]),
        *(
            (
                system(**family, model="m", weights="onnx/model.onnx"),
                ["x.weights: found 'onnx/model.onnx'; allowed are model.safe"],
            )
            for family in ({"family": "sparse"}, {"family": "rerank", "first": "bm25", "depth": 10})
        ),
        ({"datasets": False}, ["datasets: found False; expected a text", "quote a text that YAML takes for true or false"]),
        (dataset(**{"path:/x": None}), ["write a blank after the colon"]),
        (system(base="bm25", language="german"), ["e.g. analyzer: lucene-german"]),
        ({"audit_sample": 1, "folders": []}, ["it is an option of leaderboard, as in command: {leaderboard: {folders: …}}"]),
        (dataset(path="/data", subset="de"), ["subset needs hub too"]),
    ],
    ids=str,
)
def test_a_mistake_is_named_with_its_key_what_was_found_and_what_is_allowed(config: dict[str, Any], expected: list[str]) -> None:
    said = "".join(f"{line}\n" for line in problems_of(config))
    assert [part for part in expected if part not in said] == []
    assert "^[0-9a-f]" not in said  # a pattern is put into words


VARIANTS = {
    "own": {"model": "some/where", "revision": "0" * 40, "similarity": "cosine", "query_prefix": "q: "},
    "bits": {"variant_of": "own", "vectors": "binary"},
    "short": {"variant_of": "all-minilm-l6-v2", "dimensions": 64, "family": "dense"},
    "dot": {"variant_of": "own", "similarity": "dot"},
}


def test_a_variant_has_the_settings_of_the_system_that_it_names_and_encodes_nothing() -> None:
    experiment = load_experiment({"systems": ["bits", "short"], "custom": {"systems": VARIANTS}})
    own, bits = experiment.settings("own", "name"), experiment.settings("bits", "name")
    assert bits == own | {"variant_of": "own", "vectors": "binary"}
    assert experiment.settings("dot", "name") == own | {"variant_of": "own", "similarity": "dot"}
    assert experiment.encoder_of("dot") == "own"
    short = experiment.systems["short"].settings.variant
    assert short == {"variant_of": "all-minilm-l6-v2", "vectors": "float32", "dimensions": 64}
    encoders = [experiment.encoder_of(name) for name in ("own", "bits", "short", "bm25")]
    assert encoders == ["own", "own", "all-minilm-l6-v2", "bm25"]
    assert "own" in experiment.systems_with_models
    assert not {"bits", "short"} & set(experiment.systems_with_models)
    in_paths = experiment.in_paths("short", "scifact")
    assert (in_paths["system"], in_paths["dimensions"]) == ("all-minilm-l6-v2", "64")
    assert experiment.in_paths("own", "scifact")["dimensions"] == "all"
    # What a variant changes encodes nothing again.
    alone = load_experiment({"systems": ["own"], "custom": {"systems": {"own": VARIANTS["own"]}}})
    beside = load_experiment({"systems": ["own", "bits"], "custom": {"systems": VARIANTS}})
    assert encoding_of(alone, "own", "nfcorpus") == encoding_of(beside, "own", "nfcorpus")
    assert not {"variant_of", "vectors", "stored_dimensions"} & set(encoding_of(beside, "own", "nfcorpus"))


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ({"variant_of": "onw", "vectors": "int8"}, ["x.variant_of: found 'onw'", "a dense system that encodes", "mean 'own'?"]),
        *(
            ({"variant_of": name, "vectors": "int8"}, [f"x.variant_of: found '{name}'", "expected a dense system that encodes"])
            for name in ("bits", "bm25", "x")
        ),
        ({"variant_of": "own", "vectors": "int4"}, ["x.vectors: found 'int4'", "allowed are float32, float16, int8, binary"]),
        ({"variant_of": "own", "similarity": "dot", "vectors": "int8"}, ["x.vectors: found 'int8'", "float32"]),
        ({"variant_of": "own", "dimensions": 0}, ["x.dimensions: found 0", "at least 1"]),
        ({"variant_of": "own", "model": "m"}, ["x.model", "no such key here, allowed are family, variant_of"]),
        ({"variant_of": "own", "family": "lexical"}, ["x.variant_of", "no such key here"]),
    ],
    ids=str,
)
def test_a_variant_of_what_cannot_be_compressed_is_refused(variant: dict[str, Any], expected: list[str]) -> None:
    said = "\n".join(problems_of({"custom": {"systems": VARIANTS | {"x": variant}}}))
    assert "bits" not in said.partition("allowed are")[2]
    assert [part for part in expected if part not in said] == []


def test_numbers_inside_of_values_of_the_command_line_are_numbers() -> None:
    """Snakemake makes texts of all that stands in braces behind --config."""
    words = {"prices": {"hour": "2.10", "gigabyte_month": "1"}, "datasets": {"largest": "6000"}, "gate": {"tolerance": "0.01"}}
    experiment = load_experiment(words)
    assert experiment.config["prices"] == {"hour": 2.1, "gigabyte_month": 1}
    assert experiment.config["gate"]["tolerance"] == 0.01
    assert list(experiment.chosen_rows) == ["nfcorpus", "scifact"]
    assert words["prices"]["hour"] == "2.10"
    graph = {"approximate": "all-minilm-l6-v2", "index": "hnsw", "ef_search": ["50", "200"], "m": "16", "ef_construction": "40"}
    systems = load_experiment({"custom": {"systems": {"graph": graph}}, "systems": "graph", "datasets": "scifact"}).chosen_systems
    assert list(systems) == ["graph-ef-50", "graph-ef-200"]
    assert "found 'many'; expected a number" in only_problem({"prices": {"hour": "many"}}, "prices.hour")


def test_numbers_that_yaml_takes_for_texts_are_numbers() -> None:
    config = yaml.safe_load("{prices: {hour: 1e-6}, custom: {systems: {mine: {family: lexical, b: 4e-1}}}}")
    assert (config["prices"]["hour"], config["custom"]["systems"]["mine"]["b"]) == ("1e-6", "4e-1")
    experiment = load_experiment(config)
    assert (experiment.config["prices"]["hour"], experiment.systems["mine"].settings.b) == (1e-6, 0.4)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", ".hidden", "a b", "x" * 101, "ü", "x\n", "-x"])
@pytest.mark.parametrize("kind", ["systems", "datasets"])
def test_names_that_could_leave_their_folder_are_refused(kind: str, name: str, mine: Path) -> None:
    entry = {"model": str(mine)} if kind == "systems" else {"path": str(mine)}
    problem = only_problem({"custom": {kind: {name: entry}}}, "1 to 100 letters a to z, digits, dots, dashes and underscores")
    assert problem.startswith(f"custom.{kind}{f'.{name}' if name.isprintable() else ''}: found {name!r}")


@pytest.mark.parametrize("name", ["scifact", "cqadupstack", "cqadupstack-tex", "a-b"])
def test_a_dataset_cannot_have_a_name_of_the_catalogue_or_of_a_forum(name: str, mine: Path) -> None:
    datasets = {"a": {"path": str(mine), "forums": ["b"]}, name: {"path": str(mine)}}
    problem = only_problem({"custom": {"datasets": datasets}})
    assert problem.startswith(f"custom.datasets.{name}: found {name!r}; another dataset or forum has this name")


def keys_of(config: dict[str, Any]) -> list[str]:
    return [line.partition(":")[0] for line in problems_of(config)]


def test_mistakes_of_every_kind_are_listed_at_once_and_each_once(tmp_path: Path, mine: Path) -> None:
    systems = {
        "keyed": {"model": "some/model", "revision": "0" * 40, "poolng": "mean"},
        "varied": {"variant_of": "keyed", "vectors": "int8"},
        "over": {"family": "fusion", "of": ["varied", "bm25"]},
        "varies": {"variant_of": "bm25", "vectors": "int8"},
        "reads": {"family": "rerank", "first": "bm52", "model": "all-minilm-l6-v2"},
    }
    datasets = {"mine": {"path": str(mine), "labels": {"a": 1}}, "gone": {"path": str(tmp_path / "gone")}}
    chosen = {
        "systems": ["keyed", "over", "varies", "bm25", "nobody"],
        "datasets": ["mine.sample-3", "scifact", "nothing", "gone"],
    }
    values = {"baseline": "keyed", "device": "gpu", "top_k": 5, "cutoffs": [1, 10]}
    assert keys_of({"systems": ["a", "contriever", "b"], "datasets": ["c", "fiqa", "d"]}) == ["systems"] * 2 + ["datasets"] * 2
    assert keys_of({**chosen, **values, "custom": {"systems": systems, "datasets": datasets}}) == [
        *("custom.datasets.mine.labels", "custom.systems.keyed.poolng", "device", "custom.systems.varies.variant_of"),
        *("systems", "datasets", "cutoffs", "custom.systems.reads.first"),
        "custom.datasets.gone.path",
    ]


def test_a_model_that_cannot_be_used_is_explained_only_where_it_is_chosen() -> None:
    problems = {"someone/model": "'revision'", "/no/such/model": "nothing is there", "package:not_there/model": "not installed"}
    for model, expected in problems.items():
        assert load_experiment({"systems": ["contriever"], **system(model=model)}).chosen_systems == ["contriever"]
        problem = only_problem({"systems": ["x"], **system(model=model)}, expected)
        assert problem.startswith(f"custom.systems.x.model: found {model!r}; ")


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_dataset_that_lacks_a_file_names_key_folder_and_file(mine: Path, missing: str) -> None:
    (mine / missing).unlink()
    only_problem({"datasets": ["x"], **dataset(path=str(mine))}, "custom.datasets.x.path", str(mine), missing)
    scifact = mine.rename(mine.with_name("scifact"))
    only_problem({"datasets": ["scifact"], "data_dir": str(scifact.parent)}, "data_dir", str(scifact), missing)
    if missing.startswith("qrels"):
        only_problem({"datasets": ["x"], **dataset(path=str(scifact), split="dev")}, "qrels/dev.tsv")


def test_data_dir_is_used_for_the_datasets_that_it_holds_and_the_others_are_downloaded(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "scifact")
    for forum in FORUMS:
        write_dataset(tmp_path / "cqadupstack" / forum)
    experiment = load_experiment({"datasets": ["scifact", "fiqa", "cqadupstack"], "data_dir": str(tmp_path)})
    assert experiment.source_files("scifact") == [str(folder / f) for f in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")]
    assert experiment.source_files("cqadupstack-tex")[0] == str(tmp_path / "cqadupstack" / "tex" / "corpus.jsonl")
    assert experiment.source_files("fiqa") == ["<results>/data/fiqa.zip"]
    assert experiment.folder("fiqa") is None
    assert experiment.folder("scifact") == str(folder)


def test_a_folder_or_archive_in_data_dir_is_a_dataset_by_its_name_with_its_splits_and_samples(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "my.own")
    names = ["my.own", "my.own.sample-1", "scifact"]
    experiment = load_experiment({"datasets": names, "data_dir": str(tmp_path)})
    assert list(experiment.chosen_rows) == names
    assert {experiment.folder(name) for name in names[:2]} == {str(folder)}
    assert load_experiment(experiment.config).config == experiment.config  # as its jobs read it
    assert "found 'my'" in only_problem({"datasets": "my", "data_dir": str(tmp_path)})
    archive = zip_folder(folder, tmp_path / "packed.zip")
    assert load_experiment({"datasets": "packed", "data_dir": str(tmp_path)}).source_files("packed") == [str(archive)]
    only_problem({"datasets": "pakced", "data_dir": str(tmp_path)}, "found 'pakced'; did you mean 'packed'?")
    archive.rename(tmp_path / "scifact.zip")
    assert load_experiment({"data_dir": str(tmp_path)}).source_files("scifact") == [str(tmp_path / "scifact.zip")]
    (folder / "queries.jsonl").unlink()
    only_problem({"datasets": "my.own", "data_dir": str(tmp_path)}, "data_dir: found", str(folder), "queries.jsonl")
    only_problem({"datasets": "my.onw", "data_dir": str(tmp_path)}, "found 'my.onw'; did you mean 'my.own'?")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"datasets": "mine", "sample_queries": 5000},
            "datasets: found 'mine.sample-5000'; the dataset has fewer judged queries, 1; choose",
        ),
        (
            {"datasets": ["scifact.sample-301", "nfcorpus"]},
            "datasets: found 'scifact.sample-301'; the dataset has fewer judged queries, 300",
        ),
        (
            {"datasets": "mine.documents-900"},
            "datasets: found 'mine.documents-900'; mine has fewer documents, 3; choose a smaller sample",
        ),
        ({"datasets": "empty"}, "the corpus is empty; expected at least one document"),
    ],
)
def test_a_sample_that_is_too_large_and_an_empty_corpus_are_found_at_once(
    config: dict[str, Any], expected: str, mine: Path
) -> None:
    empty = write_dataset(mine.with_name("empty"))
    (empty / "corpus.jsonl").write_text("\n")
    only_problem({**config, "data_dir": str(mine.parent)}, expected)
    # Of several datasets, one may be smaller than a sample of all.
    load_experiment({"datasets": ["trec-covid", "scifact"], "sample_queries": 100})


def test_documents_of_a_dataset_are_counted_unless_they_are_stated(mine: Path, tmp_path: Path) -> None:
    archive = zip_folder(mine, tmp_path / "packed.zip")
    write_dataset(tmp_path / "forums" / "f")
    datasets = {"mine": {"path": str(mine)}, "packed": {"path": str(archive)}, "stated": {"path": str(mine), "documents": 7}}
    experiment = with_datasets({**datasets, "with": {"path": str(tmp_path / "forums"), "forums": ["f"]}})
    counts = {name: experiment.documents(name) for name in experiment.chosen_datasets}
    assert counts == {"mine": len(DOCUMENTS), "packed": len(DOCUMENTS), "stated": 7, "with-f": len(DOCUMENTS)}
    assert experiment.source_files("packed") == [str(archive)]
    # Chunks are as many as the documents need.
    for documents, chunks in ((1, 1), (5, 1), (6, 2), (10, 2), (11, 3)):
        experiment = with_datasets({"mine": {"path": str(mine), "documents": documents}}, chunk_documents=5)
        assert experiment.chunks("mine") == experiment.corpus_settings("mine")["chunks"] == chunks


def test_an_archive_is_looked_for_at_the_mirrors_and_then_at_the_official_host() -> None:
    experiment = load_experiment({"mirrors": ["http://a.example/beir/", "https://b.example"]})
    host = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets"
    assert archive_urls(experiment.config, "nq") == ["http://a.example/beir/nq.zip", "https://b.example/nq.zip", f"{host}/nq.zip"]
    assert experiment.archive("nq") == {"md5": "d4d3d2e48787a744b6f6e691ff534307", "size": 498307926}


def test_only_what_changes_a_vector_is_a_setting_of_its_encoding(tiny_bert: Path) -> None:
    def encodings(**fields: Any) -> list[dict[str, Any]]:
        custom = {"systems": {"x": {"model": str(tiny_bert), "pooling": "mean", "similarity": "dot", **fields}}}
        experiment = load_experiment({"systems": ["x"], "custom": custom})
        of_job = {"system": "x", "dataset": "nfcorpus"}
        return [params_of(experiment, rule, **of_job)["settings"] for rule in ("encode_queries", "encode_chunk")]

    queries, documents = encodings()
    assert encodings(similarity="cosine") == [queries, documents]
    assert encodings(query_prefix="query: ") == [{**queries, "query_prefix": "query: "}, documents]
    assert encodings(document_prefix="text: ") == [queries, {**documents, "document_prefix": "text: "}]
    assert encodings(pooling="cls") == [{**queries, "pooling": "cls"}, {**documents, "pooling": "cls"}]


def test_an_instruction_is_written_into_the_prompt_of_its_dataset() -> None:
    prompt = {"query_prefix": "Instruct: {instruction}\nQuery: ", "instructions": {"nq": "find"}}
    chosen = {"systems": ["x"], "datasets": ["nq", "scifact", "cqadupstack"]}
    experiment = load_experiment({**chosen, **system(model="some/model", revision="0" * 40, **prompt)})
    prompts = {name: encoding_of(experiment, "x", name)["query_prefix"] for name in ("nq", "scifact", "cqadupstack-gis")}
    claim = "Given a scientific claim, retrieve documents that support or refute the claim"
    assert prompts["nq"] == "Instruct: find\nQuery: "
    assert prompts["scifact"] == f"Instruct: {claim}\nQuery: "
    assert prompts["cqadupstack-gis"].endswith("duplicates to the given question\nQuery: ")


@pytest.mark.parametrize("name", ["mine", "nq-mine"])
def test_a_dataset_without_an_instruction_is_an_error_where_one_is_needed(mine: Path, name: str) -> None:
    """The instruction of an official dataset is none for one that is called much like it."""
    own = {"model": "some/model", "revision": "0" * 40, "query_prefix": "{instruction}: "}
    custom = {"systems": {"x": own}, "datasets": {name: {"path": str(mine)}}}
    with pytest.raises(ConfigError, match=rf"custom.systems.x.instructions.{name}: .*queries of {name} need an instruction"):
        load_experiment({"systems": ["x"], "datasets": [name], "custom": custom})


OWN = {"own": {"encoder": "mine:Encoder", "similarity": "dot"}}


def test_a_class_is_told_the_task_of_mteb_or_the_name_of_the_dataset(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine.parent / "mine.py").write_text("class Encoder: ...")
    monkeypatch.chdir(mine.parent)
    chosen = ["fiqa", "msmarco", "cqadupstack", "nfcorpus.dev", "mine"]
    systems = {**OWN, "scored": {"family": "rerank", "first": "bm25", "model": "own"}}
    custom = {"systems": systems, "datasets": {"mine": {"path": str(mine)}}}
    experiment = load_experiment({"datasets": chosen, "custom": custom, "systems": "scored"})
    expected = {"fiqa": "FiQA2018", "msmarco": "MSMARCO", "nfcorpus.dev": "NFCorpus", "mine": "mine"}
    expected["cqadupstack-android"] = "CQADupstackAndroidRetrieval"
    for name, task in expected.items():
        encoder = encoding_of(experiment, "own", name)
        assert ("tasks" in encoder, encoder["task"]) == (False, task)
        assert experiment.settings_for("scored", name).dense.task == task
    # It may have other vectors for equal texts of two datasets, then.
    config = {"datasets": ["fever", "climate-fever"], "custom": {"systems": OWN}, "systems": ["own", "contriever"]}
    experiment = load_experiment(config)
    assert [experiment.shared_with("climate-fever", name) for name in ("contriever", "own")] == ["fever", None]
    assert encoding_of(experiment, "contriever", "fever")["task"] is None


def test_texts_are_shared_where_both_datasets_are_configured(mine: Path) -> None:
    shares = {"mine": {"shares_texts_with": "yours"}, "yours": {}, "theirs": {"shares_texts_with": "fever"}}
    custom = {"datasets": {name: {"path": str(mine), **entry} for name, entry in shares.items()}}
    for chosen, expected in (
        ("all", {"climate-fever": "fever"}),
        (["climate-fever", "fever"], {"climate-fever": "fever"}),
        (["climate-fever"], {}),
        (["fever"], {}),
        (["mine", "yours"], {"mine": "yours"}),
        (["mine", "theirs"], {}),
        (["theirs", "fever", "mine"], {"theirs": "fever"}),
    ):
        experiment = load_experiment({"datasets": chosen, "custom": custom})
        found = {name: experiment.shared_with(name) for name in experiment.datasets}
        assert {name: other for name, other in found.items() if other} == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("mine", ["a dataset does not share its texts with itself", "allowed are msmarco,"]),
        ("fevr", ["allowed are msmarco,", "yours; did you mean 'fever'?"]),
        ("cqadupstack", ["cqadupstack has forums", "allowed are msmarco,"]),
        ("cqadupstack-tex", ["allowed are msmarco,"]),
        ("climate-fever", ["climate-fever shares its own texts with 'fever'; name that one"]),
    ],
)
def test_a_dataset_that_texts_cannot_be_shared_with_is_refused(mine: Path, other: str, expected: list[str]) -> None:
    datasets = {"mine": {"path": str(mine), "shares_texts_with": other}, "yours": {"path": str(mine)}}
    problem = only_problem({"custom": {"datasets": datasets}}, *expected)
    assert problem.startswith(f"custom.datasets.mine.shares_texts_with: found {other!r}; ")
    allowed = problem.partition("allowed are ")[2].partition(";")[0].split(", ")
    assert not {"mine", "cqadupstack", "climate-fever"} & set(allowed)


def test_jobs_share_cores_where_gpus_are_limited() -> None:
    auto, cpu = (load_experiment({"device": device}) for device in ("auto", "cpu"))
    for limits, share in (
        ({"_cores": 16}, (8, None)),
        ({"_cores": None, "_nodes": 200}, (8, None)),
        ({"_cores": 16, "gpu": 1}, (8, 1)),
        ({"_cores": 16, "gpu": 4}, (4, 1)),
        ({"_cores": 2, "gpu": 4}, (1, 1)),
        ({"gpu": 4}, (2, 1)),
        ({"_cores": 4, "gpu": 0}, (4, 1)),
    ):
        assert gpu_share(auto, limits) == share
    assert gpu_share(cpu, {"_cores": 16, "gpu": 4}) == (8, None)


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user whom permissions hold back, which they do not do with root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_may_not_be_read_is_named_with_its_key_before_anything_runs() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        mine, run = write_dataset(folder / "mine"), folder / "nfcorpus.jsonl"
        archive = zip_folder(mine, mine.with_suffix(".zip"))
        run.touch()
        own, packed = ({"datasets": ["x"], **dataset(path=str(path), documents=3)} for path in (mine, archive))
        on_nfcorpus = {"systems": ["x"], "datasets": ["nfcorpus"]}
        encoder = system(model=f"{folder}/model", pooling="mean", similarity="dot", max_length=64)
        for path, key, config in (
            *((path, "custom.datasets.x.path", own) for path in (mine, mine / "corpus.jsonl", mine / "qrels/test.tsv")),
            (archive, "custom.datasets.x.path", packed),
            (run, "custom.systems.x", on_nfcorpus | system(run=str(run))),
            (run, "custom.systems.x", on_nfcorpus | system(family="lexical", expansion={"path": str(run)})),
            (folder, "custom.systems.x", {"systems": ["x"], **encoder}),
            (folder, "data_dir", {"data_dir": f"{folder}/data"}),
        ):
            mode = path.stat().st_mode
            path.chmod(0)
            with as_nobody():
                problem = only_problem(config, "it cannot be read ([Errno 13] Permission denied", str(path))
            path.chmod(mode)
            assert problem.startswith(f"{key}: found ")


def test_a_path_that_cannot_be_looked_at_or_has_a_wildcard_of_snakemake_is_refused_in_words(tmp_path: Path) -> None:
    for path, says in (("~nobody-here/nf", "home directory"), ("/" + "x" * 5000, "File name too long")):
        assert only_problem({"datasets": ["x"], **dataset(path=path)}, says).startswith("custom.datasets.x.path: found")
    for name in ("{x}", "<results>"):
        only_problem({"datasets": ["x"], **dataset(path=str(write_dataset(tmp_path / name)))}, "Snakemake interprets")


def test_an_archive_is_known_by_its_name_in_any_case_and_a_folder_is_none(mine: Path, tmp_path: Path) -> None:
    zip_folder(mine, tmp_path / "capitals.ZIP")
    datasets = {"capitals": {"path": str(tmp_path / "capitals.ZIP")}, "fold": {"path": str(write_dataset(tmp_path / "fold.zip"))}}
    experiment = with_datasets(datasets)
    assert [experiment.documents(name) for name in datasets] == [3, 3]


def test_words_of_a_command_line_have_the_types_of_a_file_and_results_may_be_written_elsewhere() -> None:
    elsewhere = [{"results": folder} for folder in ("results/mine", "/data/x", "../elsewhere", "workflows", "a b")]
    elsewhere.append({"pathvars": {"results": "results/mine"}})  # type: ignore[dict-item]
    for said, expected in (
        *zip(elsewhere, elsewhere, strict=True),
        ({"cutoffs": "5,10"}, {"cutoffs": [5, 10]}),
        ({"cutoffs": ["5", "10"]}, {"cutoffs": [5, 10]}),
        ({"cutoffs": "10"}, {"cutoffs": [10]}),
        ({"cutoffs": 10}, {"cutoffs": [10]}),
        ({"systems": "bm25, contriever"}, {"systems": ["bm25", "contriever"]}),
        ({"datasets": "scifact,nfcorpus"}, {"datasets": ["scifact", "nfcorpus"]}),
        (
            {"top_k": "2000", "token_budget": "4096", "figure_width": "3.3"},
            {"top_k": 2000, "token_budget": 4096, "figure_width": 3.3},
        ),
        ({"keep_representations": "false", "keep_archives": "True"}, {"keep_representations": False, "keep_archives": True}),
    ):
        config = load_experiment(said).config
        assert {key: config[key] for key in expected} == expected


def test_a_path_that_is_not_there_is_said_in_full_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = only_problem({"datasets": "x", **dataset(path="data/stack", forums=["a", "b"])})
    where = f"expected a folder or a .zip, and there is no {tmp_path}/data/stack"
    assert line == f"custom.datasets.x.path: found 'data/stack'; {where}"


def labelled(path: Path, **more: Any) -> dict[str, Any]:
    """Labelled documents as a dataset of the user's own."""
    path.write_text('{"query": "a", "data": [{"id": 1, "summary": "b", "answer": "good"}, {"summary": "c", "answer": "bad"}]}\n')
    return {**LABELLED, "path": str(path), **more}


def test_a_file_of_labelled_documents_is_a_dataset(tmp_path: Path) -> None:
    experiment = with_datasets({"mine": labelled(tmp_path / "mine.jsonl", fields={"id": "id"})}, chunk_documents=1)
    assert (experiment.documents("mine"), experiment.chunks("mine"), experiment.query_blocks("mine")) == (2, 2, 1)
    assert experiment.source_files("mine") == [str(tmp_path / "mine.jsonl")]
    assert experiment.corpus_settings("mine")["form"]["labels"] == (("good", 2), ("bad", 0))
    assert experiment.corpus_settings("mine")["form"]["text"] == "summary"


def test_what_nobody_may_hand_out_is_used_from_data_dir_alone(tmp_path: Path) -> None:
    assert "robust04" not in load_experiment({}).chosen_rows, "all is what is public"
    folder = write_dataset(tmp_path / "robust04")
    experiment = load_experiment({"datasets": ["robust04", "fiqa"], "data_dir": str(tmp_path)})
    assert experiment.source_files("robust04")[0] == str(folder / "corpus.jsonl")
    assert experiment.corpus_settings("robust04")["expected"] == {"documents": 528155, "queries": 249, "files": {}}
    assert experiment.catalogue.reference("bm25", "robust04", "NDCG@10") is not None
    for name, reason in (("bioasq", "may not be redistributed"), ("msmarco-v2.1-segmented", "is a tar of .* not read")):
        load_experiment({"datasets": [name, "fiqa"]}, (), {"snakemake", "estimate"})
        with pytest.raises(
            ConfigError, match=f"datasets: found '{name}'; {name} {reason}; .* into the folder {name} of data_dir"
        ):
            load_experiment({"datasets": [name, "fiqa"]}, (), {"snakemake", "summary"})
    only_problem({"custom": {"datasets": {"signal1m": {"path": str(folder)}}}}, "another dataset or forum has this name")


def test_a_dataset_on_a_hub_is_known_by_its_revision_before_it_is_fetched(tmp_path: Path) -> None:
    write_dataset(tmp_path / "nano")
    large = {**NANO, "documents": 7, "subset": "de", "qrels": {"hub": "a/b", "revision": "1" * 40}}
    config = {"nano": {**NANO, "split": "train"}, "large": large}
    experiment = with_datasets(config, chunk_documents=5, data_dir=str(tmp_path))
    assert experiment.source_files("nano") == ["<results>/data/nano.json"]
    assert experiment.folder("nano") is None, "a folder of data_dir is another dataset"
    assert (experiment.chunks("nano"), experiment.chunks("large"), experiment.query_blocks("nano")) == (1, 2, 1)
    assert experiment.corpus_settings("nano")["expected"] == {"documents": None, "queries": None, "files": {}, "most": 5}
    assert "most" not in experiment.corpus_settings("large")["expected"]
    assert experiment.on_hub("nano")["split"] == "train"
    form = {"kind": "hub", **NANO, "subset": "de", "qrels_hub": "a/b", "qrels_revision": "1" * 40, "layout": None}
    assert experiment.on_hub("large")["form"] == form == experiment.corpus_settings("large")["form"]
    assert experiment.hub_datasets == ["nano", "large"]
    others = load_experiment({"datasets": ["nano.train", "nano.sample-3"], "custom": {"datasets": {"nano": NANO}}})
    assert [others.datasets[name].split for name in others.chosen_datasets] == ["train", "test"]


def samples(path: Path) -> dict[str, Any]:
    """Samples of re-ranking as a dataset of the user's own."""
    path.write_text('{"query": "q", "pos": ["a"], "negative": ["b", "c"]}\n')
    return {"path": str(path), "form": "samples", "fields": {"positive": "pos"}}


def test_samples_are_a_dataset_for_systems_that_can_rank_candidates(tmp_path: Path, tiny_bert: Path) -> None:
    custom = {
        "datasets": {"mine": samples(tmp_path / "mine.jsonl")},
        "systems": {
            "own": {"model": str(tiny_bert), "pooling": "mean", "similarity": "dot"},
            **{name: {"family": "fusion", "of": ["own", of]} for name, of in (("fused", "all-minilm-l6-v2"), ("words", "bm25"))},
        },
    }
    experiment = load_experiment({"systems": ["own", "fused"], "datasets": ["mine"], "custom": custom})
    assert experiment.documents("mine") == 3
    form = {"query": "query", "positive": "pos", "negative": "negative", "query_lists": None, "kind": "samples"}
    assert experiment.corpus_settings("mine")["form"] == form
    problems = problems_of({"systems": ["own", "words"], "datasets": ["mine"], "custom": custom})
    able = "dense, late-interaction, fusion, rerank, vectors"
    said = f"each query of mine ranks only its own candidates, which systems of {able} can do"
    assert problems == [f"systems.bm25: found 'lexical'; {said}"]


def test_queries_that_are_lists_are_for_systems_with_one_vector_a_query(tmp_path: Path, tiny_bert: Path) -> None:
    custom = {
        "datasets": {"mine": samples(tmp_path / "mine.jsonl") | {"query_lists": "averaged"}},
        "systems": {
            "own": {"model": str(tiny_bert), "pooling": "mean", "similarity": "dot"},
            "late": {"family": "late-interaction", "model": str(save_colbert(tmp_path / "late"))},
            "signs": {"variant_of": "own", "vectors": "binary"},
            "again": {"family": "rerank", "first": "signs", "model": "own"},
            "later": {"family": "rerank", "first": "own", "model": "late"},
            "fused": {"family": "fusion", "of": ["own", "again"]},
        },
    }
    load_experiment({"systems": ["signs", "again", "fused"], "datasets": "mine", "custom": custom})
    problems = problems_of({"systems": ["late", "later"], "datasets": "mine", "custom": custom})
    said = "queries of mine are lists of texts, and only dense systems average their vectors"
    assert problems == [f"systems.late: found 'late-interaction'; {said}", f"systems.later: found 'rerank'; {said}"]
    said = "query_lists: found 'query_lists'; query_lists needs form: samples too"
    only_problem(dataset(**labelled(tmp_path / "l.jsonl"), query_lists="averaged"), said)


def test_keys_of_one_form_are_none_of_another_and_labelled_documents_have_no_other_split(tmp_path: Path) -> None:
    own, labels = samples(tmp_path / "mine.jsonl"), labelled(tmp_path / "labelled.jsonl")
    only_problem(dataset(**own, labels={"a": 1}), "labels: found 'labels'; labels needs form: labelled too")
    only_problem(dataset(**{**own, "fields": {"id": "x"}}), "are query, positive, negative")
    only_problem({"datasets": ["x.dev"], **dataset(**labels)}, "x is evaluated on test; it has no other splits")
