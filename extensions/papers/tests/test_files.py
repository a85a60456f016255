"""The files of papers: those of the project are whole, and a wrong one is refused in a sentence with its line."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from beirflow.config.load import load_experiment
from beirflow.config.systems import catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.catalogue import PUBLISHED, load_catalogue
from beirflow.extensions.papers.configure import configuration_of_paper
from beirflow.extensions.papers.files import paper_files
from beirflow.extensions.papers.findings import FAILS, HOLDS, UNDECIDED, judge
from beirflow.extensions.papers.read import read_paper

PAPERS = {name: read_paper(path) for name, path in paper_files().items()}

TEXT = """\
title: A title
citation: An author 2027
measures: [NDCG@10, Recall@100]
decimals: 3
sources:
  table: {url: "https://example.org", place: table 1}
systems:
  first:
    system: bm25
    settings: {k1: 0.9}
    scores:
      scifact: [0.679, 0.925]
      nfcorpus: [0.322]
  second:
    needs: weights
    scores:
      scifact: [0.7]
findings:
  - {says: it is best, compare: second above first on at least 1 of 1}
"""


@pytest.fixture
def refused(tmp_path: Path) -> Callable[[str], str]:
    """Write a file, and give back how it is refused, without the folder."""

    def refusal(text: str) -> str:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        with pytest.raises(ConfigError) as error:
            read_paper(path)
        return str(error.value).replace(f"{tmp_path}/", "")

    return refusal


def test_at_least_nine_papers_have_values_of_datasets_and_systems_that_are_known_here() -> None:
    assert len(PAPERS) >= 9
    known = load_catalogue().known_datasets
    corpora = {corpus.name for row in known.values() for corpus in row} | {*known}
    for name, paper in PAPERS.items():
        assert paper.values, name
        assert {each.dataset for each in paper.values} <= corpora, name
        assert all(0 <= each.value <= 1 for each in paper.values), name
        assert any(paper.names(system) for system in paper.systems), name


@pytest.mark.parametrize("name", PAPERS)
def test_every_value_has_a_source_that_names_a_place_and_a_commit_page_or_transcription(name: str) -> None:
    paper = PAPERS[name]
    for system in paper.systems:
        source = paper.content["sources"][paper.source_name(system)]
        assert source["place"]
        assert {"commit", "url", "transcription"} & source.keys()


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_is_run_with_the_settings_of_its_source(name: str) -> None:
    """Those of the catalogue are taken where they are the same; others make a system of their own."""
    paper = PAPERS[name]
    experiment = load_experiment(configuration_of_paper(paper))
    for system in paper.systems:
        for ours in paper.names(system):
            described = experiment.described(ours) if ours in experiment.systems else {}
            for key, value in paper.systems[system]["settings"].items():
                found = described.get(key)
                assert (list(found) if isinstance(found, tuple) else found) == value, (system, key)


def test_settings_of_another_value_make_a_system_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(TEXT.replace("k1: 0.9", "k1: 1.2"))
    paper = read_paper(tmp_path / "own.yaml")
    given = configuration_of_paper(paper)
    assert given["systems"] == ["own.first"]
    assert given["custom"]["systems"] == {"own.first": {"base": "bm25", "k1": 1.2}}
    settings = load_experiment(given).systems["own.first"].settings
    assert (settings.k1, settings.b) == (1.2, asdict(catalogue_systems()["bm25"].settings)["b"])


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("[0.322]", "[1.2]", "systems.first.scores.nfcorpus: found 1.2; expected at most 1 (mine.yaml:13)"),
        ("[0.322]", "[0.3218]", "found 0.3218; expected at most 3 decimals, as decimals says (mine.yaml:13)"),
        ("[0.322]", "[0.3, 0.2, 0.1]", "expected at most 2 values: NDCG@10, Recall@100 (mine.yaml:13)"),
        ("[0.322]", "many", "systems.first.scores.nfcorpus: found 'many'; expected a list (mine.yaml:13)"),
        ("nfcorpus:", "nfcorpsu:", "no dataset of the catalogue or this file; did you mean 'nfcorpus'?"),
        ("nfcorpus:", "scifact:", "mine.yaml:13:7: duplicate key 'scifact' (first in line 12); remove one"),
        ("system: bm25", "system: bm52", "systems.first.system: found 'bm52'; did you mean 'bm25"),
        ("    needs: weights\n", "", "systems.second.system: missing; expected a system of the catalogue"),
        ("{k1: 0.9}", "{encoder: 'os:system'}", "systems.first.settings.encoder: found 'os:system'; the file of a paper runs no"),
        ("{k1: 0.9}", "{base: {encoder: 'os:system'}}", "systems.first.settings.base: found "),
        (", place: table 1", "", "sources.table.place: missing; this key is required (mine.yaml:6)"),
        ('url: "https://example.org", ', "", "sources.table"),
        ("systems:\n", "  more: {url: x, place: y}\nsystems:\n", "first.source: missing; values without a source; name one of"),
        ("    needs: weights", "    needs: weights\n    source: tabel", "found 'tabel'; allowed are table; did you mean"),
        ("measures: [NDCG@10", "measures: [NDCG", "found 'NDCG'; expected a measure with its cutoff"),
        ("measures: [NDCG@10", "measures: [NDGC@10", "measures: found 'NDGC@10'; expected a measure with its cutoff"),
        ("above first on at least 1 of 1", "beats first", "found 'second beats first'; expected 'a above b on at least n of m'"),
        ("on at least 1 of 1", "on at least 2 of 1", "expected 'a above b on at least n of m'"),
        ("second above first", "third above first", "'third' is no system of this file; allowed are first, second"),
        ("decimals: 3", "decimals: many", "decimals: found 'many'; expected a whole number (mine.yaml:4)"),
        ("decimals: 3", "decimals: 3\nauthors: 2", "authors"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_its_line(refused: Callable[[str], str], right: str, wrong: str, message: str) -> None:
    assert right in TEXT
    text = refused(TEXT.replace(right, wrong))
    assert message in text
    assert text.startswith("the paper mine.yaml cannot be used:\n  ")
    assert len(text.splitlines()) == 1 + text.count("mine.yaml:")  # a sentence for each mistake, with its line


def test_it_is_the_sentence_that_decides_over_a_finding() -> None:
    scores = {("a", "x"): 0.5, ("b", "x"): 0.4, ("a", "y"): 0.3, ("b", "y"): 0.3, ("a", "z"): 0.1, ("b", "z"): 0.2}
    above = "a above b on at least {} of {}"
    between = "mean a − mean b between {} and {}"
    for sentence, datasets, expected in (
        (above.format(1, 3), "xyz", HOLDS),  # equal scores are not above
        (above.format(2, 3), "xyz", FAILS),
        (above.format(1, 9), "xyz", HOLDS),  # what is missing cannot change it
        (above.format(8, 9), "xyz", FAILS),
        (above.format(2, 9), "xyz", UNDECIDED),
        (between.format("-0.01", "0.01"), "xyz", HOLDS),
        (between.format("0.01", "0.02"), "xyz", FAILS),
        (between.format("-0.01", "0.01"), "xyzw", UNDECIDED),  # a mean needs all
    ):
        assert judge([sentence], scores, [*datasets])[0] == expected, sentence
    assert judge([above.format(1, 3), above.format(2, 3)], scores, [*"xyz"])[0] == FAILS
    # A term may be a number, or a system a number of times.
    for sentence, expected in (
        ("a above 0.2 on at least 2 of 3", HOLDS),
        ("0.35 above a on at least 3 of 3", FAILS),
        ("a above 1.2 times b on at least 1 of 3", HOLDS),
        ("a above 1.3 times b on at least 1 of 3", FAILS),
    ):
        assert judge([sentence], scores, [*"xyz"])[0] == expected, sentence
    assert judge(["a above 1.2 times b on at least 1 of 1"], scores, ["x"]) == (HOLDS, "a 0.5; b 0.4")
    assert judge([between.format("-1", "1")], scores, ["x", "y"])[1].endswith("over 2 (95 % interval -0.5853 to +0.6853)")
    assert judge([above.format(1, 3)], {}, ["x"])[0] == UNDECIDED


SHARED = [("beir-2021", "paper"), ("contriever-2021", "paper"), ("pyserini-2cr-beir", "pyserini")]


@pytest.mark.parametrize(("name", "source"), SHARED)
def test_values_that_the_catalogue_has_too_are_the_same(name: str, source: str) -> None:
    paper, published, compared = PAPERS[name], load_catalogue().published, 0
    for each in paper.values:
        entries = [entry for ours in paper.names(each.system) for entry in published.get(ours, ()) if entry["source"] == source]
        for entry in entries:
            scores = dict(zip(PUBLISHED, entry["scores"].get(each.dataset, ()), strict=False))
            if (value := scores.get(each.measure)) is not None:
                assert value == each.value, each
                compared += 1
    assert compared >= 50
