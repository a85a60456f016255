"""The printed values of the paper are whole, and their values are those of the catalogue."""

from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE, read_yaml
from beirflow.extensions.beir_paper.page_tables import PAGE_TABLES
from beirflow.extensions.beir_paper.printed_values import load_paper
from beirflow.extensions.beir_paper.registry import FIGURES, PRINTED, TABLES
from beirflow.extensions.papers.read import read_paper


def test_the_values_are_those_of_the_file_among_the_papers_and_of_the_catalogue() -> None:
    paper, scores, catalogue = load_paper(), read_paper(PRINTED[1]), load_catalogue()
    assert paper.systems == {name: system for system in scores.systems for name in scores.names(system)}
    assert [*paper.datasets] == scores.datasets
    assert [name for name, entry in paper.datasets.items() if not {"task", "domain", "query_words"} <= entry.keys()] == []
    # Table 4 repeats table 2, and has the gain.
    ndcg = {each.system: each.value for each in scores.values if (each.dataset, each.measure) == ("trec-covid", "NDCG@10")}
    gains = {system: round(value - ndcg[system], 3) for (system, _), value in paper.numbers["ndcg_extra"].items()}
    assert gains == {system: value for (system, _), value in paper.numbers["gain"].items()}
    assert len(gains) == 9
    known = read_yaml(CATALOGUE / "datasets.yaml")["datasets"]
    levels = {name: len({0, *(grade for grade in entry["grades"] if grade >= 0)}) for name, entry in known.items()}
    assert levels == {name: value for (key, name), value in paper.numbers["table-1"].items() if key == "levels"}
    assert paper.datasets["bioasq"]["documents"] == catalogue.own_copies["bioasq"][0].documents - 1  # as its note says


def test_every_table_with_printed_values_says_where_they_stand() -> None:
    printed = {name for name, about in PAGE_TABLES.items() if "rinted" in str(about.columns)}
    assert load_paper().places.keys() == printed | {"efficiency"}  # whose cells name them


PARTS = [f"Figure {number}" for number in range(1, 5)] + [f"Table {number}" for number in range(1, 5)]
BESIDE = ("Elasticsearch", "RM3", "Universal Sentence Encoder")  # of sections 3 and 4
APPENDIX = ("examples", "links", "Recall@100", "capped", "violins", "cosine", "ColBERT", "training")
TASK_TYPES = (
    *("retrieval", "re-ranking", "classification", "multi-label classification", "clustering", "pair classification"),
    *("STS", "summarization", "bitext mining", "instruction retrieval"),
)
"""Of MTEB, as its paper and its package name them."""


def test_every_part_of_the_paper_and_every_task_type_is_here_or_said_to_be_missing() -> None:
    scope = load_paper().scope
    names = [entry["part"] for entry in scope]
    assert [part for part in PARTS if not any(name.startswith(f"{part},") for name in names)] == []
    assert [part for part in APPENDIX if not any(name.startswith("Appendix") and part in name for name in names)] == []
    assert [each for each in BESIDE if not any(each in name for name in names)] == []
    types = [each for name in names if name.startswith("Task types: ") for each in name.partition(": ")[2].split(", ")]
    assert sorted(types) == sorted(TASK_TYPES)
    # Not missing: the catalogue has its datasets, and their measures are computed.
    instructed = {"followir.core17": "p-MRR@1000", "mfollowir.fas": "p-MRR@1000", "instructir.msmarco": "robustness@10"}
    assert {name: load_catalogue().own_measure(name) for name in instructed} == instructed
    assert not any("missing" in entry for entry in scope if "instruction retrieval" in entry["part"])
    here = [target for entry in scope for target in entry.get("here", ())]
    # The same file may show two parts.
    assert set(here) == {*TABLES, *FIGURES, f"papers/{PRINTED[1].stem}"}
