"""The catalogue holds the fifteen datasets as BEIR publishes them, and knows which published scores may be compared."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from beir_names import FIFTEEN, FORUMS
from beirflow.config.configuration import problems_with
from beirflow.config.systems import NEEDS, catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.catalogue import PUBLISHED, Catalogue, load_catalogue
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.own_datasets import custom_dataset
from beirflow.data.catalogue.schema import CATALOGUE
from beirflow.evaluation.conventions import CONVENTIONS

TESTS = Path(__file__).parents[3]
COMPARED = 1090
"""Values of the catalogue that are in ``published_values.yaml``."""


@pytest.fixture(scope="module")
def known() -> Catalogue:
    return load_catalogue()


def test_splits_self_matches_shared_texts_and_known_files_are_those_of_beir(known: Catalogue) -> None:
    assert list(known.datasets) == FIFTEEN
    assert [part.name for part in known.datasets["cqadupstack"]] == [f"cqadupstack-{forum}" for forum in FORUMS]
    parts = [part for parts in known.datasets.values() for part in parts]
    assert {part.row: part.split for part in parts} == dict.fromkeys(FIFTEEN, "test") | {"msmarco": "dev"}
    assert all(part.drop_self_matches for part in parts)
    assert {part.name: part.shares_texts_with for part in parts if part.shares_texts_with} == {"climate-fever": "fever"}
    files = {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}
    assert {part.name: set(part.files) for part in parts if part.files} == dict.fromkeys(
        ("nfcorpus", "arguana", "scifact"), files
    )


def test_documents_and_queries_add_up_and_every_archive_has_an_md5_of_its_own(known: Catalogue) -> None:
    for names, documents, queries in ((["cqadupstack"], 457_199, 13_145), (FIFTEEN, 33_860_495, 53_359)):
        parts = [part for name in names for part in known.datasets[name]]
        assert (sum(part.documents or 0 for part in parts), sum(part.queries or 0 for part in parts)) == (documents, queries)
    md5s = {name: parts[0].md5 for name, parts in known.datasets.items()}
    assert len(set(md5s.values())) == 15
    assert md5s["fever"] == "5a818580227bfb4b35bb6fa46d9b6c03"  # BEIR's list of digests repeats scifact's here
    assert md5s["scifact"] == "5f7d1de60b170fc8027bb7898e2efca1"
    assert md5s["webis-touche2020"] == "46f650ba5a527fc69e0a6521c5a23563"  # version 2 of the judgements


def test_published_values_are_of_the_split_that_is_evaluated(known: Catalogue) -> None:
    for sources in known.published.values():
        for source in sources:
            others = source.get("other_splits", {})
            assert all(any(name == key or name.startswith(f"{key}.") for name in source["scores"]) for key in others)
            for name in source["scores"]:
                evaluated = {corpus.split for corpus in known.known_datasets[name]}
                split = others.get(name, others.get(name.partition(".")[0], source["split"]))
                # The forums of BEIR-NL are splits.
                assert evaluated == {split} or name == "beir-nl.cqadupstack", (source["citation"], name)


def test_published_values_are_those_of_their_files(known: Catalogue) -> None:
    compared = 0
    for file in yaml.safe_load((TESTS / "published_values.yaml").read_text(encoding="utf-8")):
        for system, printed in file["scores"].items():
            [source] = [each for each in known.published[system] if each["source"] == file["source"]]
            assert source["place"].startswith(file["place"])
            for dataset, values in source["scores"].items():
                # A mean of forums has more decimals than are published.
                within = 0.5 * 10 ** -source["decimals"] + 1e-9 if dataset == "cqadupstack" else 0
                assert values == pytest.approx(printed[dataset], abs=within, rel=0), (system, dataset)
                compared += len(values)
    assert compared == COMPARED


@pytest.mark.parametrize(
    ("system", "dataset", "measure", "expected"),
    [
        ("contriever", "scifact", "NDCG@10", (0.6493, "pyserini", 4)),
        ("contriever", "msmarco", "NDCG@10", (0.206, "paper", 3)),
        ("contriever", "trec-covid", "Recall@100", (0.0368, "pyserini", 4)),
        ("tas-b", "scifact", "Recall@100", None),
        ("bm25-multifield", "arguana", "NDCG@10", (0.4142, "pyserini", 4)),
        ("bm25-minilm-l6-ce", "scifact", "NDCG@10", (0.688, "paper", 3)),
        # The user's own, whatever its settings, though the paper has a system of this name.
        ("deepct", "scifact", "NDCG@10", None),
        ("contriever", "scifact", "MAP@100", None),
        ("contriever", "my-corpus", "NDCG@10", None),
    ],
)
def test_the_most_precise_score_that_may_be_compared_is_the_reference(
    known: Catalogue, system: str, dataset: str, measure: str, expected: tuple[float, str, int] | None
) -> None:
    found = known.reference(system, dataset, measure)
    assert (found and (found.value, found.source, found.decimals)) == expected


def test_sources_stand_in_the_order_of_their_precision_and_no_score_has_more_decimals(known: Catalogue) -> None:
    assert set(known.published) <= set(catalogue_systems())  # whose names no other system may have
    for sources in known.published.values():
        assert len({source["source"] for source in sources}) == len(sources)  # a source names one entry of a system
        decimals = [source["decimals"] for source in sources]
        assert decimals == sorted(decimals, reverse=True)
        for source in sources:
            values = [value for scores in source["scores"].values() for value in scores if value is not None]
            assert values == [round(value, source["decimals"]) for value in values]
            assert set(source["scores"]) <= {*FIFTEEN, *known.own_copies, *known.newer.members}


DEV = "    split: dev\n"


def test_a_catalogue_whose_dataset_shares_texts_with_none_is_refused(tmp_path: Path) -> None:
    for path in (*CATALOGUE.glob("*.yaml"), *CATALOGUE.glob("*.csv")):
        text = path.read_text(encoding="utf-8")
        text = text.replace(DEV, f"{DEV}    shares_texts_with: feber\n") if path.stem == "datasets" else text
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"(?s)datasets\.yaml.*msmarco.*shares_texts_with.*'fever'"):
        load_catalogue(tmp_path)


OF_A_CORPUS = {"split", "documents", "queries", "task", "domain", "language", "licence"}
NEEDED = {"datasets": OF_A_CORPUS | {"archive", "words", "positives", "grades"}, "own_copies": OF_A_CORPUS | {"words"}}
FURTHER = {
    "datasets": {"other_splits", "judged", "mteb", "note", "drop_self_matches", "shares_texts_with", "files", "forums"},
    "own_copies": {"reason", "note"},
}
OF_A_COLLECTION = {"title", "drop_self_matches", "main_measure", "mean", "members"}
OF_A_MEMBER = OF_A_CORPUS | {"hub", "revision", "qrels", "layout", "subset", "main_measure", "drop_self_matches", "note"}
OF_A_MEMBER |= {"excluded_pairs", "relevant_pairs", "relevant_from", "forums"}
OF_A_TABLE = {"table", "parts", "outside", "citation"}
OF_A_SOURCE = {"source", "citation", "version", "place", "split", "precision", "decimals", "conventions", "scores"}
FURTHER_OF_A_SOURCE = {"other_splits", "seconds", "note", "not_comparable", "printed_as"}


def content(name: str) -> Any:
    return yaml.safe_load((CATALOGUE / f"{name}.yaml").read_text(encoding="utf-8"))


def test_the_systems_of_the_catalogue_have_the_keys_of_their_families() -> None:
    systems = {name: {key: entry[key] for key in entry if key != NEEDS} for name, entry in content("systems").items()}
    assert problems_with({"custom": {"systems": systems}}).lines == []


def test_every_key_of_the_catalogue_is_known_and_every_value_is_of_its_kind() -> None:
    for kind, needed in NEEDED.items():
        for name, entry in content("datasets")[kind].items():
            assert needed <= entry.keys() <= needed | FURTHER[kind], name
            assert entry.get("archive", {}).keys() <= {"md5", "bytes"}, name
            assert all(type(entry[key]) is int and entry[key] > 0 for key in ("documents", "queries")), name
            assert all(forum.keys() <= {"documents", "queries", "mteb"} for forum in entry.get("forums", {}).values()), name
    assert all(re.fullmatch("[0-9a-f]{32}", entry["archive"]["md5"]) for entry in content("datasets")["datasets"].values())
    for name, entry in content("collections")["collections"].items():
        if "table" in entry:
            assert OF_A_COLLECTION ^ {"members"} <= entry.keys() <= OF_A_COLLECTION | OF_A_MEMBER | OF_A_TABLE, name
            assert all(part.keys() <= OF_A_MEMBER for part in entry["parts"].values())
            continue
        assert OF_A_COLLECTION <= entry.keys() <= OF_A_COLLECTION | OF_A_MEMBER | {"citation", "of_beir"}, name
        forums = [forum for member in entry["members"].values() for forum in member.get("forums", {}).values()]
        assert all(each.keys() <= OF_A_MEMBER for each in (*entry["members"].values(), *forums)), name
    for name, sources in content("published")["systems"].items():
        for source in sources:
            assert OF_A_SOURCE <= source.keys() <= OF_A_SOURCE | FURTHER_OF_A_SOURCE, name
            values = [value for scores in source["scores"].values() for value in scores if value is not None]
            assert all(0 <= value <= 1 for value in values), name
            assert source["conventions"] in CONVENTIONS, name
            assert all(len(scores) <= len(PUBLISHED) for scores in source["scores"].values()), name


def test_a_dataset_of_ones_own_takes_what_its_entry_says_and_the_defaults() -> None:
    assert custom_dataset("mine", {"path": "p"}) == (Dataset("mine", "mine", path="p", split="test", drop_self_matches=True),)
    entry: dict[str, Any] = {"path": "p", "split": "dev", "drop_self_matches": False}
    one = Dataset("mine", "mine", path="p", split="dev", drop_self_matches=False)
    assert custom_dataset("mine", entry | {"documents": 5, "shares_texts_with": "x"}) == (
        replace(one, documents=5, shares_texts_with="x"),
    )
    forums = tuple(replace(one, name=f"mine-{forum}", forum=forum) for forum in ("a", "b"))
    assert custom_dataset("mine", entry | {"forums": ["a", "b"]}) == forums


@pytest.mark.parametrize(
    ("system", "dataset", "ndcg", "recall"),
    [
        ("bm25", "miracl.fi", 0.5513, 0.8910),
        ("bm25", "miracl.fa", 0.3334, 0.7306),  # of Lucene 9, not the 0.3568 of Lucene 10
        ("bm25", "bright.biology", 0.1824, 0.4205),
        ("bm25", "bright.aops", 0.0645, None),  # excluded documents are left out after the first thousand hits there
        ("bm25", "trec-dl.2019", 0.5058, None),
        ("multilingual-e5-small", "nanobeir.nq", 0.6862, 0.96),
        ("multilingual-e5-small", "beir-nl.cqadupstack", None, None),  # of one judgement of each query
        ("bge-m3", "bright-pro.biology", 0.1392, 0.3773),
        ("multilingual-e5-small", "nanobeir-multilingual.scifact", 0.6334, 0.8791),  # the mean of its languages
        ("bge-large-en-v1.5", "mteb-eng-v2.fiqa", None, None),  # of other data than MTEB pins now
        ("bm25", "miracl-hard-negatives.fi", None, None),
    ],
)
def test_scores_of_newer_collections_are_compared_only_where_they_are_of_the_same(
    known: Catalogue, system: str, dataset: str, ndcg: float | None, recall: float | None
) -> None:
    references = [known.reference(system, dataset, measure) for measure in ("NDCG@10", "Recall@100")]
    assert [reference and reference.value for reference in references] == [ndcg, recall]
