"""Needs of systems that are asked, with those of the systems that they are made from; wildcards match names of a list alone."""

import re
from typing import Any

import pytest

from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.config.rule_inputs import all_cores, answering_code, answering_systems, corpus_of, one_of, searched_files
from beirflow.data.catalogue.choice import corpus_for_latency
from beirflow.families.system import system_of


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    dense = {"model": "sentence-transformers/all-MiniLM-L6-v2", "revision": "0" * 40}
    custom: dict[str, Any] = {
        "encoded": dense,
        "small": {"variant_of": "encoded", "vectors": "int8", "dimensions": 64},
        "fused": {"family": "fusion", "of": ["bm25", "small"]},
        "twice": {"family": "fusion", "of": ["fused", "bm25-multifield"]},
    }
    chosen = {"systems": list(custom), "datasets": ["scifact", "nfcorpus"], "chunk_documents": 3000}
    return load_experiment({**chosen, "custom": {"systems": custom}})


def test_files_are_those_that_the_searches_of_all_needed_systems_read(experiment: Experiment) -> None:
    postings, vectors = "<results>/postings/lucene-english/scifact", "<results>/embeddings/encoded/scifact"
    found = searched_files(experiment, "twice", "scifact")
    records = [f"<results>/runs/{name}/scifact.json" for name in ("twice", "fused", "bm25-multifield", "bm25", "small")]
    assert set(found) == {
        *records,
        *(f"{postings}/{name}" for name in ("chunk-0.arrow", "chunk-1.arrow", "statistics.parquet", "statistics.json")),
        *(f"{vectors}/{name}" for name in ("chunk-0.npy", "chunk-0.json", "chunk-1.npy", "chunk-1.json", "ranges-64.npy")),
    }
    assert len(found) == len(set(found))
    assert searched_files(experiment, "bm25", "scifact")[0] == "<results>/runs/bm25/scifact.json"


def test_systems_come_with_those_that_they_are_made_from(experiment: Experiment) -> None:
    found = answering_systems(experiment, "fused", "scifact")
    assert {name: entry["family"] for name, entry in found.items()} == {"fused": "fusion", "bm25": "lexical", "small": "dense"}
    for name, entry in found.items():
        assert system_of(name, entry).settings == experiment.settings_for(name, "scifact")


def test_code_that_answers_is_known_although_nothing_imports_it(experiment: Experiment) -> None:
    codes = [answering_code(experiment, name, "scifact") for name in ("bm25", "encoded", "fused", "twice")]
    assert len(set(codes)) == 3
    assert codes[2] == codes[3]


def test_the_corpus_is_that_of_the_paper_or_the_largest_and_cores_are_all_that_are_known(experiment: Experiment) -> None:
    assert corpus_of(experiment) == "scifact"
    assert corpus_for_latency({"fever": 9, "dbpedia-entity.sample-50": 3}) == "dbpedia-entity.sample-50"
    assert corpus_for_latency({"dbpedia-entity": 9, "dbpedia-entity.documents-3": 3}) == "dbpedia-entity.documents-3"
    assert (all_cores({"_cores": 6}), all_cores({})) == (6, 8)


NAMES = ["nq", "nfcorpus", "nfcorpus.dev", "scifact", "scidocs", "fever", "climate-fever", "a", "ab", "abc", "x^y", "x]y", "x-y"]


@pytest.mark.parametrize("names", [NAMES, NAMES[:1], [f"small-{number:03}" for number in range(0, 1000, 7)]])
def test_names_match_and_others_do_not(names: list[str]) -> None:
    expression = one_of(names)
    near = {changed for name in names for changed in (name[:-1], name + "x", "x" + name, name.upper(), name[1:])}
    assert [name for name in sorted({*names, *near}) if re.fullmatch(expression, name)] == sorted(names)


def test_nothing_matches_no_names() -> None:
    assert not any(re.fullmatch(one_of([]), name) for name in ("", "a"))


def test_names_that_differ_in_numbers_have_a_short_expression() -> None:
    assert len(one_of(f"small-{number:04}" for number in range(1000))) < 60
