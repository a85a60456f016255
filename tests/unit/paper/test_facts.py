"""What the paper prints is whole, and its values are those of the catalogue."""

from beirflow.paper.facts import load_facts


def test_every_system_has_a_printed_value_on_every_dataset_and_these_have_task_and_domain() -> None:
    facts = load_facts()
    assert len(facts.systems) == 10
    assert len(facts.zero_shot) == 18
    assert set(facts.ndcg) == {(system, dataset) for system in facts.systems for dataset in facts.datasets}
    assert facts.not_public == ["bioasq", "signal1m", "trec-news", "robust04"]
    assert facts.ndcg["bm25+ce", "robust04"] == 0.475
    assert [name for name, entry in facts.datasets.items() if not {"task", "domain", "label"} <= set(entry)] == []
    # Table 6 repeats table 2.
    before = {name: entry["trec_covid"]["before"] for name, entry in facts.systems.items() if "trec_covid" in entry}
    assert before == {name: facts.ndcg[name, "trec-covid"] for name in before}
    assert len(before) == 9


def test_the_system_that_stands_for_bm25_is_the_nearest_that_is_here() -> None:
    for configured, expected in (
        (["bm25", "bm25-multifield"], "bm25-multifield"),
        (["bm25", "tas-b"], "bm25"),
        (["tas-b"], None),
    ):
        assert load_facts().standing(configured).get("bm25-multifield") == expected
    # Values are barred for the measures that the reason is about.
    facts = load_facts()
    assert "100 relevant" in facts.reason("trec-covid", "Recall@100")
    assert facts.reason("trec-covid", "NDCG@10") == facts.reason("scifact", "Recall@100") == ""
