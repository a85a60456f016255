"""Datasets from a hub on the loopback: what is fetched, what it is read as, and what is refused."""

import gzip
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.errors import DataError, DownloadError
from beirflow.core.records import Job, read_json
from beirflow.data.corpus_files import PreparedCorpus
from beirflow.data.corpus_reader import read_batches
from beirflow.data.judged_queries import read_judged_queries
from beirflow.data.prepare import Preparation, prepare_corpus
from beirflow.data.sources import hub_source as module
from beirflow.data.sources import source
from beirflow.data.sources.fetch_dataset import fetch_dataset
from beirflow.data.sources.forms import HubForm
from beirflow.data.sources.hub_source import HubSource, fetched_file
from http_servers import hub_files
from hub_datasets import DOCUMENTS, JUDGED, OTHER_REVISION, QRELS, REVISION, Hub, beir, jsonl, languages, mteb, nano, rows
from refusals import refused

NANO = HubForm("z/Nano", REVISION)
MTEB = HubForm("mteb/small", REVISION)
BEIR = HubForm("BeIR/small", REVISION, None, "BeIR/small-qrels", REVISION)
GERMAN = HubForm("mteb/many", REVISION, "de")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub with a dataset of every layout."""
    texts, qrels = beir(tmp_path / "beir")
    folders = {
        "z/Nano": nano(tmp_path / "nano"),
        "mteb/small": mteb(tmp_path / "mteb"),
        "BeIR/small": texts,
        "BeIR/small-qrels": qrels,
        "mteb/many": languages(tmp_path / "many"),
    }
    return Hub(folders, monkeypatch, tmp_path / "cache")


def fetch(folder: Path, form: HubForm, split: str = "test") -> Path:
    record = folder / "results/data/own.json"
    job = Job(folder / "results", "fetch_dataset/own", "c0de")
    fetch_dataset(form=asdict(form), split=split, output_path=str(record), job=job)
    return record


def read(record: Path, form: HubForm, split: str = "test") -> tuple[dict[str, str], list[str], list[tuple[Any, ...]], HubSource]:
    """Documents, judged queries and judgements, as everything downstream reads them."""
    source = HubSource(record, form)
    queries, qrels = read_judged_queries(source, split)
    documents: dict[str, str] = {}
    for batch in read_batches(source):
        documents |= dict(zip(batch.documents["doc_id"].to_pylist(), batch.documents["text"].to_pylist(), strict=True))
    return documents, queries["query_id"].to_pylist(), [tuple(row.values()) for row in qrels.to_pylist()], source


TEXTS = {key: f"{title} {text}".strip() for key, (title, text) in DOCUMENTS.items()}


@pytest.mark.parametrize("form", [MTEB, BEIR, GERMAN], ids=lambda form: form.hub)
def test_every_layout_is_read_as_the_same_dataset(hub: Hub, tmp_path: Path, form: HubForm) -> None:
    with hub:
        record = fetch(tmp_path, form)
    documents, queries, qrels, source = read(record, form)
    assert (documents, queries, qrels) == (TEXTS, JUDGED, sorted(QRELS))
    assert source.assumed == {}
    files = {name: digest for role in read_json(record)["files"].values() for name, digest in role.items()}
    assert {name.rpartition("small-qrels/")[2]: digest for name, digest in source.digests.items()} == files


def test_only_what_is_needed_is_fetched_at_the_pinned_revision_and_nothing_afterwards(hub: Hub, tmp_path: Path) -> None:
    with hub:
        record = fetch(tmp_path, GERMAN)
        paths = {asked.path for asked in hub.asked if "/resolve/" in asked.path}
        asked = len(hub.asked)
        read(record, GERMAN)
        assert len(hub.asked) == asked
    prefix = f"/datasets/mteb/many/resolve/{REVISION}"
    assert paths == {f"{prefix}/de-{role}/test-00000-of-00001.parquet" for role in rows()}
    assert not any(OTHER_REVISION in asked.path for asked in hub.asked)


def test_judgements_without_scores_are_taken_for_relevant_and_a_corpus_records_that(hub: Hub, tmp_path: Path) -> None:
    with hub:
        record = fetch(tmp_path, NANO, "train")
    documents, queries, qrels, source = read(record, NANO, "train")
    assert documents == {key: text for key, (_, text) in DOCUMENTS.items()}
    assert (queries, qrels) == (JUDGED, [("q1", "d1", 1), ("q2", "17", 1)])
    folder = tmp_path / "results/corpora/own"

    def prepare(most: int) -> dict[str, Any]:
        prepare_corpus(
            source_path=str(record),
            settings=Preparation(None, "train", 1, {"documents": None, "queries": None, "files": {}, "most": most}, asdict(NANO)),
            corpus=PreparedCorpus(str(folder / "documents.parquet"), str(folder / "queries.parquet")),
            job=Job(tmp_path / "results", "prepare_corpus/own", "c0de"),
        )
        return read_json(folder / "corpus.json")

    corpus = prepare(3)
    assert list(corpus["inputs"]) == ["data/own.json"]
    assert corpus["counts"]["documents"] == len(DOCUMENTS)
    assert corpus["assumed"] == source.assumed == {"judgements_without_score": "2, taken for 1"}
    with pytest.raises(DataError, match=r"found 3 documents, and a chunk has at most 2 .*; say 'documents: 3'"):
        prepare(2)


def test_files_that_changed_or_are_gone_are_not_used(hub: Hub, tmp_path: Path) -> None:
    with hub:
        record = fetch(tmp_path, MTEB)
    with pytest.raises(DataError, match=r"expected was .*delete it and run again"):
        HubSource(record, HubForm("mteb/small", OTHER_REVISION))
    path = fetched_file("mteb/small", REVISION, "corpus.jsonl").resolve()
    path.write_bytes(path.read_bytes().replace(b"first", b"last!"))
    with pytest.raises(DataError, match=r"the sha256 is .*, but .*own\.json says .*; delete both and run again"):
        read(record, MTEB)
    path.unlink()
    with pytest.raises(DataError, match=r"mteb/small/corpus\.jsonl at 0123456789abcdef.* is no longer on this machine"):
        read(record, MTEB)


@pytest.mark.parametrize(("form", "split"), [(NANO, "train"), (MTEB, "test"), (BEIR, "test"), (GERMAN, "test")])
def test_the_cache_alone_gives_the_same_dataset(hub: Hub, tmp_path: Path, form: HubForm, split: str) -> None:
    with hub:
        record = fetch(tmp_path, form, split)
    recorded, cached = HubSource(record, form), HubSource.in_cache(form, split)
    for each in (recorded, cached):
        read_judged_queries(each, split)
        list(read_batches(each))
    assert cached.digests == recorded.digests
    assert cached.files == read_json(record)["files"]
    for name in cached.files["qrels"]:
        fetched_file(*form.place("qrels"), name).unlink()
    with pytest.raises(DataError):
        HubSource.in_cache(form, split)


def test_what_is_not_the_file_of_the_revision_is_refused(hub: Hub, tmp_path: Path) -> None:
    path = f"/datasets/mteb/small/resolve/{REVISION}/corpus.jsonl"
    hub.files[path] = hub.files[path].replace(b"first", b"lasts")
    with hub, pytest.raises(DownloadError, match=r"corpus\.jsonl has .* bytes and the sha256 .* not the file of this revision"):
        fetch(tmp_path, MTEB)
    assert not (tmp_path / "results/data/own.json").exists()


@pytest.mark.parametrize("form", [HubForm("mteb/small", OTHER_REVISION), HubForm("mteb/none", REVISION)])
def test_what_a_hub_does_not_have_is_explained(hub: Hub, tmp_path: Path, form: HubForm) -> None:
    says = rf"the dataset {form.hub} at {form.revision} could not be fetched (?s:.*)HF_ENDPOINT"
    with hub, pytest.raises(DownloadError, match=says):
        fetch(tmp_path, form)


def fetch_changed(hub: Hub, tmp_path: Path, name: str, content: bytes) -> Path:
    """Fetch MTEB's dataset with another file in the place of one, which the hub serves as its own."""
    folder = tmp_path / "mteb"
    (folder / "README.md").unlink(missing_ok=True)
    for path in folder.glob(f"{name.partition('.')[0]}.*"):
        path.unlink()
    (folder / name).write_bytes(content)
    hub.files |= hub_files("mteb/small", REVISION, folder, "datasets")
    with hub:
        return fetch(tmp_path, MTEB)


def parquet(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


GOOD = jsonl(rows()["corpus"])


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("corpus.jsonl", b'{"text": "a"}\n', ["corpus.jsonl:1: 'id' is missing; keys here: text"]),
        ("corpus.jsonl", b'{"_id": "a\\tb", "text": "a"}\n', ["'_id' must be"]),
        ("corpus.jsonl", b'{"_id": "a"}\n', ["mteb/small/corpus.jsonl:1: 'text' must be a string, found null"]),
        ("corpus.jsonl", b'\n["a"]\n', ["corpus.jsonl:2: expected a JSON object, found ['a']"]),
        ("corpus.jsonl", b'{"_id": "a", "te', ["corpus.jsonl:1: ", "truncated"]),
        ("corpus.jsonl.gz", gzip.compress(GOOD, mtime=0)[:-9], ["corpus.jsonl.gz: the file is damaged"]),
        ("corpus.parquet", GOOD, ["corpus.parquet: no Parquet file that can be read"]),
        ("corpus.parquet", parquet(_id=["a"], text=[b"a"]), ["the column 'text' holds binary; texts or numbers were expected"]),
        ("corpus.parquet", parquet(_id=["a", None], text=["a", "b"]), ["corpus.parquet:2: '_id' must be", "found null"]),
        ("qrels/test.jsonl", b'{"query-id": "q1", "corpus-id": "d1", "score": 0.5}\n', ["'score' must be an integer, found 0.5"]),
        ("qrels/test.jsonl", b'{"query-id": "q1", "score": 1}\n', ["'corpus-id' is missing; keys here: query-id, score"]),
        ("qrels/test.jsonl", b'{"query-id": "q9", "corpus-id": "d1", "score": 1}\n', ["'q9'", "not in mteb/small/queries.jsonl"]),
    ],
)
def test_files_of_another_form_are_refused(hub: Hub, tmp_path: Path, name: str, content: bytes, parts: list[str]) -> None:
    record = fetch_changed(hub, tmp_path, name, content)
    with refused(DataError, *parts):
        read(record, MTEB)


def test_a_file_that_unpacks_to_far_too_much_is_refused(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BOMB_BYTES", 1 << 16)
    line = b'{"_id": "a", "text": "' + b"a" * (1 << 20) + b'"}\n'
    record = fetch_changed(hub, tmp_path, "corpus.jsonl.gz", gzip.compress(line))
    with pytest.raises(DataError, match="do not trust it"):
        read(record, MTEB)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_strings_of_parquet_may_be_of_any_kind(tmp_path: Path, kind: pa.DataType) -> None:
    ids = pa.array(["a", "b"]).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(["a", "b"], kind)
    pq.write_table(pa.table({"_id": ids, "text": ids}), tmp_path / "x.parquet")
    found = module.rows_of_parquet(tmp_path / "x.parquet", "x", ["_id", "title", "text"])
    assert list(found) == [(1, {"_id": "a", "text": "a"}), (2, {"_id": "b", "text": "b"})]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("row", "documents"),
    [
        ({"query-id": "q1", "corpus-id": ["d1", "17"], "score": 1}, ["17", "d1"]),
        ({"query_id": "q1", "corpus_id": "d1", "score": "1"}, ["d1"]),
        ({"query_id": "q1", "corpus_id": 17, "score": 1.0}, ["17"]),
    ],
)
def test_judgements_are_read_however_they_are_written(
    hub: Hub, tmp_path: Path, suffix: str, row: dict[str, Any], documents: list[str]
) -> None:
    content = jsonl([row]) if suffix == "jsonl" else parquet(**{key: [value] for key, value in row.items()})
    record = fetch_changed(hub, tmp_path, f"qrels/test.{suffix}", content)
    assert read(record, MTEB)[1:3] == (["q1"], [("q1", each, 1) for each in documents])
