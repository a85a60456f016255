"""HAKARI-Bench's Nano sets: chosen by task and language, and fetched from sets on a hub whose commit is not known beforehand."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError, DataError, DownloadError
from beirflow.core.records import Job, read_json, write_record
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.corpus_files import PreparedCorpus, read_table
from beirflow.data.prepare import Preparation, prepare_corpus
from beirflow.data.sources.fetch_dataset import fetch_dataset
from beirflow.data.sources.forms import ROLES, HubForm
from beirflow.data.sources.hub_layout import files_of
from beirflow.data.sources.hub_source import HubSource, pinned
from hub_datasets import REVISION, Hub, put, put_parquet
from refusals import refused

HUB = "hakari-bench/NanoBEIR-ar"
MEMBER = "hakari.NanoBEIR-ar.NanoNFCorpus"
FORM = HubForm(HUB)

TEXTS = {f"d{number}": f"document {number}" for number in range(6)}
POSITIVES = {"NanoNFCorpus": [("q1", "d1"), ("q1", "d2"), ("q2", "d3")], "NanoNQ": [("q1", "d5")]}
FORCED = "d4"  # a candidate at the end of the lists, which is no judgement
CONFIGS = ("corpus", "queries", "qrels", "bm25", "harrier_oss_v1_270m", "reranking_hybrid")


def hakari_set(folder: Path) -> Path:
    """A set of two tasks, each a split of every config: no titles and no scores; candidates that are no judgements."""
    for split, positives in POSITIVES.items():
        candidates = [{"query-id": query, "corpus-ids": ["d0", FORCED]} for query in ("q1", "q2")]
        content: dict[str, list[dict[str, Any]]] = {
            "corpus": [{"_id": key, "text": f"{text} of {split}"} for key, text in TEXTS.items()],
            "queries": [{"_id": query, "text": f"{query}?"} for query in ("q1", "q2")],
            "qrels": [{"query-id": query, "corpus-id": document} for query, document in positives],
            **dict.fromkeys(CONFIGS[3:], candidates),
        }
        for config, lines in content.items():
            put_parquet(folder / f"{config}/{split}-00000-of-00001.parquet", lines)
    files = {config: [{"split": split, "path": f"{config}/{split}-*"} for split in POSITIVES] for config in CONFIGS}
    card = {"configs": [{"config_name": config, "data_files": entries} for config, entries in files.items()]}
    put(folder / "README.md", f"---\n{json.dumps(card)}\n---\n".encode())
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub({HUB: hakari_set(tmp_path / "set")}, monkeypatch, tmp_path / "cache") as served:
        yield served


def fetched(folder: Path, form: HubForm = FORM) -> Path:
    record = folder / "results/data/own.json"
    job = Job(folder / "results", "fetch_dataset/own", "c0de")
    fetch_dataset(form=asdict(form), split="NanoNFCorpus", output_path=str(record), job=job)
    return record


def prepared(record: Path, form: HubForm, **expected: int) -> dict[str, Any]:
    """Prepare the corpus as the catalogue expects it, but for some numbers; its record."""
    folder = record.parents[1] / "corpora/own"
    settings = load_experiment({"systems": "bm25", "datasets": MEMBER}).corpus_settings(MEMBER)
    known = {**settings["expected"], "documents": len(TEXTS), "queries": 2, "relevant_pairs": 3, **expected}
    prepare_corpus(
        source_path=str(record),
        settings=Preparation(None, settings["split"], 1, known, asdict(form)),
        corpus=PreparedCorpus(str(folder / "documents.parquet"), str(folder / "queries.parquet")),
        job=Job(record.parents[1], "prepare_corpus/own", "c0de"),
    )
    return read_json(folder / "corpus.json")


def test_a_task_is_a_split_and_nothing_else_of_its_set_is_fetched(hub: Hub, tmp_path: Path) -> None:
    assert load_catalogue().known_datasets[MEMBER][0].form == FORM
    prepared(fetched(tmp_path), FORM)
    paths = {asked.path.rpartition(f"{REVISION}/")[2] for asked in hub.asked if "/resolve/" in asked.path}
    assert paths == {"README.md", *(f"{role}/NanoNFCorpus-00000-of-00001.parquet" for role in ROLES)}
    judged = read_table(tmp_path / "results/corpora/own/qrels.parquet").to_pylist()
    assert [(row["query_id"], row["doc_id"], row["score"]) for row in judged] == [
        (*each, 1) for each in POSITIVES["NanoNFCorpus"]
    ]
    assert FORCED not in {row["doc_id"] for row in judged}


@pytest.mark.usefixtures("hub")
def test_the_newest_commit_is_taken_where_none_is_known_and_every_record_says_so(tmp_path: Path) -> None:
    record = fetched(tmp_path)
    assert read_json(record)["revision"] == REVISION
    assumed = {"revision": f"{HUB} at {REVISION}, its newest commit when it was fetched"}
    corpus = prepared(record, FORM)
    assert corpus["assumed"] == assumed | {"judgements_without_score": "3, taken for 1"}
    assert HubSource.in_cache(pinned(FORM, read_json(record)), "NanoNFCorpus").files == read_json(record)["files"]
    known = HubForm(HUB, REVISION)
    assert "revision" not in prepared(fetched(tmp_path / "known", known), known)["assumed"]
    with pytest.raises(DownloadError, match="hakari-bench/NanoNone at its newest commit could not be fetched"):
        fetched(tmp_path, HubForm("hakari-bench/NanoNone"))


@pytest.mark.parametrize("revision", ["../../elsewhere", "main", None])
def test_a_record_that_names_no_commit_is_refused(tmp_path: Path, revision: str | None) -> None:
    record = tmp_path / "own.json"
    write_record(record, Job(tmp_path), inputs={}, outputs={}, **asdict(FORM) | {"revision": revision}, split="x", files={})
    with refused(DataError, f"{HUB}: its record names the commit {str(revision)!r}; delete the record"):
        HubSource(record, FORM)


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"relevant_pairs": 2_518}, "3 judgements above 0, expected 2518"),
        ({"queries": 50}, "2 judged queries, expected 50"),
        ({"documents": 2_953}, "expected 2,953 documents, found 6"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("hub")
def test_a_newest_commit_with_other_numbers_is_refused(tmp_path: Path, expected: Mapping[str, int], problem: str) -> None:
    record = fetched(tmp_path)
    with refused(DataError, problem):
        prepared(record, FORM, **expected)
    if "documents" not in expected:  # of a known commit, the rest is a warning, and no published score is compared
        assert prepared(fetched(tmp_path, HubForm(HUB, REVISION)), HubForm(HUB, REVISION), **expected)["official"] is False


def chosen(datasets: Any) -> list[str]:
    return list(load_experiment({"systems": "contriever", "datasets": datasets}).chosen_rows)


def test_all_tasks_are_chosen_by_set_by_benchmark_and_by_language() -> None:
    members = load_catalogue().newer.collections["hakari"].members
    assert len(chosen("hakari")) == len(members) == 550
    assert not any("FullText" in name or name == "hakari.NanoLaw.NanoAILACasedocs" for name in members)
    assert "hakari.NanoRTEB.NanoAILACasedocs" in members
    assert (len(chosen("hakari.MNanoBEIR")), len(chosen("hakari.NanoBEIR-ja")), len(chosen("hakari.NanoLaw"))) == (182, 13, 8)
    swahili = {"collection": "hakari", "language": "Swahili"}
    assert chosen(swahili) == ["hakari.NanoMIRACL.sw"]
    assert chosen({"collection": "hakari", "task": "NanoRTEB", "language": "English"})[-1] == "hakari.NanoRTEB.NanoWikiSQL"
    with pytest.raises(ConfigError, match=r"'hakari\.NanoMIRACL\.fo'; did you mean .* allowed are hakari\.NanoMIRACL\.ar"):
        chosen("hakari.NanoMIRACL.fo")


def test_the_numbers_of_the_facts_are_those_of_the_members() -> None:
    catalogue = load_catalogue()
    tasks = {name: corpora[0] for name, corpora in catalogue.newer.members.items() if name.startswith("hakari.")}
    sums = [sum(getattr(corpus, key) for corpus in tasks.values()) for key in ("documents", "queries", "relevant_pairs")]
    assert (len(tasks), *sums) == (569, 3_536_066, 77_087, 317_630)
    nfcorpus = {
        name: corpus.relevant_pairs for name, corpus in tasks.items() if name.endswith(".NanoNFCorpus") and "BEIR" in name
    }
    assert nfcorpus.pop("hakari.NanoBEIR-en.NanoNFCorpus") == 1_651
    assert set(nfcorpus.values()) == {2_518}
    assert {len(corpus.form.revision) for corpus in tasks.values() if isinstance(corpus.form, HubForm)} == {0, 40}
    assert all(all(catalogue.kinds[name].values()) and corpus.licence for name, corpus in tasks.items())
    means = {"NanoBEIR-ar": (0.4360, 0.4874), "NanoRTEB": (0.3553, 0.5537), "NanoVNMTEB": (0.4571, 0.5398)}
    for part, stated in means.items():
        of_part = [catalogue.newer.facts[name] for name in catalogue.newer.collections[f"hakari.{part}"].members]
        values = [sum(float(facts[key]) for facts in of_part) / len(of_part) for key in ("bm25", "harrier")]
        assert values == pytest.approx(stated, abs=1e-4)


def test_the_files_of_every_task_are_told_from_those_of_the_others_by_their_names_too() -> None:
    sets: dict[str, list[str]] = {}
    tasks = {name: facts for name, facts in load_catalogue().newer.facts.items() if name.startswith("hakari.")}
    for facts in tasks.values():
        names = [f"{config}/{facts['split']}-00000-of-00001.parquet" for config in CONFIGS]
        sets.setdefault(facts["hub"], []).extend(names)
    for facts in tasks.values():
        for role in ROLES:
            found = files_of(role, sets[facts["hub"]], "", subset=None, split=facts["split"], where=facts["hub"])
            assert found == [f"{role}/{facts['split']}-00000-of-00001.parquet"]


def test_a_part_of_a_table_is_averaged_where_it_is_whole() -> None:
    catalogue = load_catalogue()
    ja, nl = (catalogue.newer.collections[f"hakari.{part}"].members for part in ("NanoBEIR-ja", "NanoMTEB-Dutch"))
    assert catalogue.averages([*ja, *nl])["mean of 13 (hakari.NanoBEIR-ja)"] == list(ja)
    assert [label.partition(" (")[0] for label in catalogue.averages([*ja, *nl[1:]])] == ["mean of 13", "mean of 39"]
