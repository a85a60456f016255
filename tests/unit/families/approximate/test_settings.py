"""Approximate systems in the configuration: lists of search settings, names of indexes, and what is refused."""

import re
from typing import Any

import pytest

from approximate_results import HNSW, IVF_FLAT, IVF_PQ, SQ
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from refusals import problems_of
from results_maker import Made, with_systems


def loaded(made: Made, own: dict[str, dict[str, Any]], **changes: Any) -> Any:
    return load_experiment(with_systems(made.config, own, **changes))


def refused(made: Made, own: dict[str, dict[str, Any]], **changes: Any) -> list[str]:
    return problems_of(with_systems(made.config, own, **changes))


def test_a_list_of_search_settings_makes_a_system_of_each_value_over_one_index(results_once: Made) -> None:
    experiment = loaded(results_once, {"graph": HNSW, "lists": {**IVF_FLAT, "nprobe": [1, 3]}, "one": IVF_FLAT})
    assert experiment.chosen_systems == ["tiny", "second", "graph-ef-6", "graph-ef-12", "lists-nprobe-1", "lists-nprobe-3", "one"]
    settings = {name: experiment.systems[name].settings for name in experiment.chosen_systems[2:]}
    assert [(each.name, each.ef_search, each.nprobe) for each in settings.values()] == [
        ("graph-ef-6", 6, None),
        ("graph-ef-12", 12, None),
        ("lists-nprobe-1", None, 1),
        ("lists-nprobe-3", None, 3),
        ("one", None, 2),
    ]
    names = {experiment.in_paths(name, "small")["index"] for name in settings}
    assert names == {"hnsw-m4-ef20-seed0", "ivf-flat-nlist4-seed0"}


def test_one_value_of_several_can_be_chosen_and_read_by_others(results_once: Made) -> None:
    fused = {"family": "fusion", "of": ["graph-ef-6", "second"]}
    experiment = loaded(results_once, {"graph": HNSW, "fused": fused}, systems=["graph-ef-12", "fused"])
    assert experiment.chosen_systems == ["graph-ef-12", "fused"]
    assert set(experiment.needed_systems) == {"graph-ef-12", "fused", "second", "graph-ef-6"}


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (HNSW, "hnsw-m4-ef20-seed0"),
        ({**HNSW, "seed": 7, "build_threads": 3}, "hnsw-m4-ef20-seed7-threads3"),
        ({key: value for key, value in IVF_PQ.items() if key != "bits"}, "ivf-pq-nlist3-m8-bits8-seed0"),
        (SQ, "sq-bits4-seed0"),
        ({"approximate": "second", "index": "binary", "rescore": [2, 4]}, "binary-seed0"),
    ],
)
def test_the_name_of_an_index_says_all_that_decides_over_it(results_once: Made, entry: dict[str, Any], name: str) -> None:
    experiment = loaded(results_once, {"own": entry})
    assert experiment.in_paths(experiment.chosen_systems[-1], "small")["index"] == name


WRONG = {
    "unknown": ({**HNSW, "approximate": "secnd"}, r"own\.approximate: found 'secnd'; did you mean 'second'\? allowed are .*"),
    "lexical": ({**HNSW, "approximate": "bm25"}, r"own\.approximate: found 'bm25'; this is a system of the family lexical; .*"),
    "variant": ({**HNSW, "approximate": "int8"}, r"own\.approximate: found 'int8'; this searches .*; name second, .*"),
    "trained": ({**HNSW, "approximate": "genq"}, r"own\.approximate: found 'genq'; this has a model for each dataset; .*"),
    "nprobe": ({**IVF_FLAT, "nprobe": [2, 5]}, r"own\.nprobe: found 5; the index has 4 lists \(nlist\); visit at most these"),
    "of another": ({**HNSW, "nprobe": 3}, r"own\.nprobe: found 'nprobe'; .*"),
    "missing": ({"approximate": "second", "index": "ivf-flat", "nprobe": 1}, r"own\.nlist: missing; this key is required"),
    "m": ({**HNSW, "m": 1}, r"own\.m: found 1; expected at least 2"),
    "bits": ({**SQ, "bits": 5}, r"own\.bits: found 5; allowed are 4, 6, 8, 16"),
    "codes": ({**IVF_PQ, "bits": 13}, r"own\.bits: found 13; expected at most 12"),
    "kind": ({**HNSW, "index": "hnws"}, r"own\.index: found 'hnws'; allowed are hnsw, .*did you mean 'hnsw'\?"),
    "rescore": ({**HNSW, "rescore": 2}, r"own\.rescore: found 'rescore'; no such key here with index: hnsw, allowed are .*"),
    "dense": ({**HNSW, "family": "dense"}, r"own\.approximate: found 'approximate'; no such key here.*"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_refused_in_one_line_whatever_the_number_of_systems(results_once: Made, case: str) -> None:
    entry, expected = WRONG[case]
    model = results_once.config["custom"]["systems"]["tiny"]
    others = {
        "int8": {"variant_of": "second", "vectors": "int8"},
        "genq": {"base": model, "train": {"generator": {"path": "/{dataset}.jsonl"}}},
    }
    lines = refused(results_once, {**others, "own": entry}, systems=["own"])
    assert any(re.fullmatch(rf"custom\.systems\.{expected}", line) for line in lines), lines
    assert len(lines) == 1 or case in ("dense", "trained"), lines  # its queries are in no file here


def test_a_system_cannot_have_the_name_of_one_value(results_once: Made) -> None:
    lines = refused(results_once, {"graph": HNSW, "graph-ef-6": IVF_FLAT})
    assert lines == [
        "custom.systems.graph: found 'graph-ef-6'; another system has the name of one that this defines; rename one of the two"
    ]


def test_queries_with_candidates_of_their_own_are_refused(results_once: Made, tmp_path: Any) -> None:
    (tmp_path / "samples.jsonl").write_text('{"query": "w1", "positive": ["w1 w2"], "negative": ["w3"]}\n')
    datasets = {"own": {"path": str(tmp_path / "samples.jsonl"), "form": "samples"}}
    config = with_systems(results_once.config, {"lists": IVF_FLAT})
    custom = {**config["custom"], "datasets": datasets}
    expected = r"systems\.lists: found 'approximate'; each query of own ranks only its own candidates"
    with pytest.raises(ConfigError, match=expected):
        load_experiment({**config, "custom": custom, "datasets": ["own"], "systems": ["lists"]})
