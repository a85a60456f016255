"""Collections are chosen whole, by member and by property; their members are datasets of a hub with all that a run needs."""

from pathlib import Path
from typing import Any

import pytest

from beir_writer import write_beir
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.sources.forms import HubForm
from beirflow.data.sources.hub_layout import LAYOUTS
from beirflow.report.tables import bibtex

SIZES = {
    # members, corpora, documents, queries
    "nanobeir": (13, 13, 56_723, 649),
    "bright": (12, 12, 1_333_166, 1_384),
    "bright-long": (8, 8, 0, 0),
    "trec-dl": (2, 2, 17_683_646, 97),
    "miracl": (18, 18, 106_332_152, 13_495),
    "miracl-hard-negatives": (18, 18, 2_449_382, 11_076),
    "rteb": (17, 63, 3_340_391, 35_069),
    "beir-nl": (15, 26, 33_860_495, 53_359),
    "beir-pl": (13, 24, 23_027_334, 38_221),
    "longembed": (6, 20, 2_788, 13_412),
    "coir": (10, 20, 2_389_123, 162_216),
    "browsecomp-plus": (2, 2, 200_390, 1_660),
    "followir": (3, 3, 98_312, 208),
    "mfollowir": (3, 3, 121_635, 246),
    "mfollowir-cross-lingual": (3, 3, 121_635, 246),
    "instructir": (1, 1, 16_072, 9_906),
    "freshstack": (5, 5, 271_842, 672),
    "obliq": (5, 5, 807_398, 1_238),
}


def chosen(datasets: Any, **config: Any) -> list[str]:
    return list(load_experiment({"systems": "bm25", "datasets": datasets, **config}).chosen_rows)


@pytest.mark.parametrize("name", SIZES)
def test_a_collection_is_all_its_members_each_pinned_and_described(name: str) -> None:
    catalogue, experiment = load_catalogue(), load_experiment({"systems": "contriever", "datasets": name})
    corpora = [experiment.datasets[corpus] for corpus in experiment.chosen_datasets]
    assert list(experiment.chosen_rows) == list(catalogue.newer.collections[name].members)
    sums = (sum(corpus.documents or 0 for corpus in corpora), sum(corpus.queries or 0 for corpus in corpora))
    assert (len(experiment.chosen_rows), len(corpora), *sums) == SIZES[name]
    for corpus in corpora:
        assert isinstance(corpus.form, HubForm)
        assert len(corpus.form.revision) == 40
        assert corpus.licence
        assert corpus.form.layout is None or corpus.form.layout in LAYOUTS
        assert all(catalogue.kinds[corpus.row].values())
    places = {(corpus.form, corpus.split) for corpus in corpora}
    assert len(places) == len(corpora)  # no two corpora are the same data
    assert bibtex([corpora[0].row]).count("@") == 2


def test_members_forums_and_samples_have_the_names_that_are_asked_for() -> None:
    assert chosen(["bright.biology", "miracl.sw", "scifact"]) == ["bright.biology", "miracl.sw", "scifact"]
    assert chosen(["nanobeir.nq", "nanobeir"])[:2] == ["nanobeir.nq", "nanobeir.arguana"]
    assert chosen("nanobeir.nq", sample_queries=5) == ["nanobeir.nq.sample-5"]
    assert chosen("all") == list(load_catalogue().datasets)
    experiment = load_experiment({"systems": "bm25", "datasets": "longembed.needle"})
    assert experiment.chosen_datasets[0] == "longembed.needle-256"
    assert {experiment.datasets[corpus].split for corpus in experiment.chosen_datasets} >= {"256", "32768"}
    assert experiment.corpus_settings("longembed.needle-256")["expected"]["documents"] == 100


def test_systems_are_ranked_by_the_main_measure_that_all_collections_share() -> None:
    def measure(datasets: Any, **config: Any) -> str:
        return load_experiment({"systems": "bm25", "datasets": datasets, **config}).main_measure

    assert measure("bright-long") == "Recall@1"
    assert measure(["bright-long", "bright"]) == measure(["bright-long", "scifact"]) == "NDCG@10"
    assert measure("bright-long", main_measure="NDCG@5") == "NDCG@5"
    assert measure("bright-long", cutoffs=[10]) == "NDCG@10"
    assert measure("followir") == measure("mfollowir.fas.sample-20") == "p-MRR@1000"
    assert measure("instructir") == "robustness@10"
    assert measure("freshstack") == "alpha-nDCG@10"
    assert measure("longembed.needle") == measure(["longembed.needle", "longembed.passkey"]) == "NDCG@1"
    assert measure("longembed") == measure(["followir", "longembed.needle"]) == "NDCG@10"  # several, none for all


@pytest.mark.parametrize(
    ("name", "dataset"), [("p-MRR@100", "scifact"), ("robustness@10", "followir"), ("coverage@10", "bright")]
)
def test_a_measure_that_a_dataset_does_not_state_is_refused(name: str, dataset: str) -> None:
    with pytest.raises(ConfigError, match="does not state what this measure compares"):
        load_experiment({"systems": "bm25", "datasets": dataset, "main_measure": name})


def test_queries_of_plain_datasets_have_no_candidates_to_rerank() -> None:
    systems = {"ce": {"family": "rerank", "model": "a/b", "revision": "f" * 40}}
    followir = load_experiment({"systems": "ce", "datasets": "followir.core17", "custom": {"systems": systems}})
    assert sorted(followir.needed_runs) == [("candidates", "followir.core17"), ("ce", "followir.core17")]
    with pytest.raises(
        ConfigError, match=r"systems.ce.first: found 'candidates'; queries of scifact have no candidates, so ce needs"
    ):
        load_experiment({"systems": "ce", "datasets": "scifact", "custom": {"systems": systems}})


def test_facts_that_change_scores_reach_the_job_that_prepares_the_data(tmp_path: Path) -> None:
    mine = write_beir(tmp_path / "mine", {"d": "x"}, {"q": "x"}, {"q": {"d": 3}})
    custom = {"datasets": {"mine": {"path": str(mine), "relevant_from": 3}}}
    experiment = load_experiment(
        {"systems": "bm25", "datasets": ["trec-dl.2019", "bright.aops", "mine.sample-1"], "custom": custom}
    )
    assert experiment.corpus_settings("mine.sample-1")["relevant_from"] == 3
    assert experiment.corpus_settings("trec-dl.2019")["relevant_from"] == 2
    assert experiment.corpus_settings("bright.aops")["expected"]["excluded_pairs"] == 622_756
    assert not experiment.retrieval("bright.aops")["drop_self_matches"]  # the list of each query has its own document
