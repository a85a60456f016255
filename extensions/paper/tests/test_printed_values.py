"""The printed values of the paper are whole, and their values are those of the catalogue."""

from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.extensions.paper.page_tables import PAGE_TABLES
from beirflow.extensions.paper.printed_values import load_paper
from beirflow.extensions.paper.registry import FIGURES, TABLES


def test_every_system_has_a_printed_value_on_every_dataset_and_these_have_task_and_domain() -> None:
    paper = load_paper()
    assert len(paper.systems) == 10
    assert len(paper.zero_shot) == 18
    assert set(paper.ndcg) == {(system, dataset) for system in paper.systems for dataset in paper.datasets}
    assert paper.not_public == ["bioasq", "signal1m", "trec-news", "robust04"]
    assert paper.ndcg["bm25+ce", "robust04"] == 0.475
    assert [name for name, entry in paper.datasets.items() if not {"task", "domain", "label"} <= set(entry)] == []
    # Table 6 repeats table 2.
    before = {name: entry["trec_covid"]["before"] for name, entry in paper.systems.items() if "trec_covid" in entry}
    assert before == {name: paper.ndcg[name, "trec-covid"] for name in before}
    assert len(before) == 9


def test_the_system_that_stands_for_bm25_is_the_nearest_that_is_here() -> None:
    for configured, expected in (
        (["bm25", "bm25-multifield"], "bm25-multifield"),
        (["bm25", "tas-b"], "bm25"),
        (["tas-b"], None),
    ):
        assert load_paper().standing(configured).get("bm25-multifield") == expected
    # Values are barred for the measures that the reason is about.
    paper = load_paper()
    assert "493.5 relevant" in paper.reason("trec-covid", "Recall@100")
    assert paper.reason("trec-covid", "NDCG@10") == paper.reason("scifact", "Recall@100") == ""


def test_every_table_with_printed_values_says_where_they_stand() -> None:
    printed = {name for name, about in PAGE_TABLES.items() if "rinted" in str(about.columns)}
    assert printed == {"table-1", "bias", "lengths-medians", "similarities"}
    assert load_paper().places.keys() == printed | {"claims", "table-2", "efficiency"}  # which name them in cells


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
    assert not any("instruction retrieval" in each for each in load_paper().out_of_scope)
    here = [target for entry in scope for target in entry.get("here", ())]
    # The same file may show two parts.
    assert set(here) == {*TABLES, *FIGURES}
    assert all(f"{entry['part']}: {entry['missing']}." in load_paper().out_of_scope for entry in scope if "missing" in entry)
