"""Preparing a corpus: every document once, in the order and chunk that the rules say, or nothing at all."""

import hashlib
import logging
import random
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beir_writer import write_beir, zip_folder
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.data import chunking as dealing
from beirflow.data.corpus_files import PreparedCorpus, footer_digest
from beirflow.data.prepare import Preparation, prepare_corpus
from beirflow.data.sampling import drawn
from beirflow.data.self_matches import SelfMatches
from beirflow.data.sources import source as source_module

OUTPUTS = ["corpus.json", "documents.parquet", "qrels.parquet", "queries.parquet"]


def prepare(
    source: Path,
    out: Path,
    chunks: int = 1,
    forum: str | None = None,
    more: Mapping[str, Any] | None = None,
    self_matches: SelfMatches | None = None,
    topic_measure: str = "",
    **expected: Any,
) -> dict[str, Any]:
    known = {"documents": None, "queries": None, "files": {}} | expected
    corpus = PreparedCorpus(str(out / "documents.parquet"), str(out / "queries.parquet"))
    settings, job = Preparation(forum, "test", chunks, known, **(more or {})), Job(out, "prepare_corpus/in", "c0de")
    use = {"self_matches": self_matches, "topic_measure": topic_measure}
    prepare_corpus(source_path=str(source), settings=settings, corpus=corpus, job=job, **use)
    return read_json(out / "corpus.json")


def write(folder: Path, documents: Mapping[str, Any]) -> Path:
    return write_beir(folder, documents, {"q1": "which?"}, {"q1": {next(iter(documents)): 1}})


def chunks_in(out: Path) -> list[list[tuple[str, str]]]:
    file = pq.ParquetFile(out / "documents.parquet")
    columns = [("doc_id", pa.string()), ("text", pa.large_string()), ("title_bytes", pa.int32())]
    assert file.schema_arrow.equals(pa.schema(columns))
    groups = [file.read_row_group(i).to_pydict() for i in range(file.num_row_groups)]
    return [list(zip(group["doc_id"], group["text"], strict=True)) for group in groups]


def dealt(documents: Mapping[str, str], chunks: int) -> list[list[tuple[str, str]]]:
    """The rule in plain words: longest first, then id in byte order; each new text goes to the next chunk."""
    turn: dict[str, int] = {}
    dealt: list[list[tuple[str, str]]] = [[] for _ in range(chunks)]
    for doc_id, text in sorted(documents.items(), key=lambda item: (-len(item[1]), item[0].encode())):
        dealt[turn.setdefault(text, len(turn)) % chunks].append((doc_id, text))
    return dealt


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(("open_files", "batch"), [(128, 20_000), (128, 100), (7, 3), (1, 1)])
def test_more_chunks_than_files_may_be_open_take_several_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_files: int, batch: int
) -> None:
    monkeypatch.setattr(dealing, "OPEN_FILES", open_files)
    monkeypatch.setattr(dealing, "MAPPED_BYTES", 0)
    monkeypatch.setattr(source_module, "BLOCK_BYTES", batch)
    chunks, count = (150, 500) if open_files == 128 else (20, 50)
    documents = {f"d{n}": f"{n} " * (n % 17) for n in range(count)}
    prepare(write(tmp_path / "in", documents), tmp_path / "out", chunks=chunks)
    assert chunks_in(tmp_path / "out") == dealt(documents, chunks)


def test_the_order_of_the_file_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BLOCK_BYTES", 500)
    letters = random.Random(0)
    rows = [(f"d{n}", "".join(letters.choices("abcdef ", k=7 * n % 1500))) for n in range(150)]
    written = []
    for order, mapped in ((rows, dealing.MAPPED_BYTES), (rows[::-1], 0), (letters.sample(rows, len(rows)), 0)):
        monkeypatch.setattr(dealing, "MAPPED_BYTES", mapped)
        write_beir(tmp_path / "in", dict(order), {"q1": "which?"}, {"q1": {"d1": 1}})
        written.append(prepare(tmp_path / "in", tmp_path / "out", chunks=3)["outputs"])
    assert written[0] == written[1] == written[2]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
OFTEN_EQUAL = TEXTS | st.sampled_from(["", "a", "é", "ab"])


@given(
    documents=st.dictionaries(TEXTS.filter(bool), st.tuples(st.none() | OFTEN_EQUAL, OFTEN_EQUAL), min_size=1, max_size=30),
    chunks=st.integers(1, 5),
)
def test_every_document_is_in_the_one_place_that_the_rules_say_and_says_how_much_of_it_is_the_title(
    tmp_path_factory: pytest.TempPathFactory, documents: dict[str, tuple[str | None, str]], chunks: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    fields = {doc_id: {"title": title, "text": text} for doc_id, (title, text) in documents.items()}
    prepare(write_beir(folder, fields, {"q": "?"}, {"q": {"d": 1}}), folder / "out", chunks=chunks)
    joined = {doc_id: f"{title} {text}" if title else text for doc_id, (title, text) in documents.items()}
    assert chunks_in(folder / "out") == dealt(joined, chunks)
    table = pq.read_table(folder / "out/documents.parquet")
    for doc_id, text, title_bytes in zip(*(column.to_pylist() for column in table.columns), strict=True):
        assert text.encode()[:title_bytes].decode() == (documents[doc_id][0] or "")


def test_the_record_counts_what_was_read_and_names_its_digests(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    judgements = {"q1": {"d1": 2, "d2": 0, "gone": 1}, "q2": {"d3": 1, "lost": 0, "d4": -1}}
    documents = {"d1": "x", "d2": {"title": "é", "text": ""}, "d3": "日本語", "d4": "x" * 10, "d5": "x"}
    folder = write_beir(tmp_path / "in", documents, {"q1": "a", "q2": "b", "q3": "c"}, judgements)
    record = prepare(folder, tmp_path / "out", chunks=2)
    names = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
    assert record == {
        "path": "corpus.json",
        "split": "test",
        "chunks": 2,
        "counts": {
            "documents": 5,
            "distinct_texts": 4,
            "queries": 2,
            "judgements": 6,
            "positives": 3,
            "judgements_without_document": 2,
            "relevant": 3,
            "relevant_without_document": 1,
            "characters": 17,
        },
        "official": None,
        "characters": pytest.approx({"min": 1, "mean": 3.4, "median": 2, "p90": 3 + 0.6 * 7, "p99": 3 + 0.96 * 7, "max": 10}),
        "source_sha256": {name: digest(folder / name) for name in names},
        "inputs": {},
        "outputs": {name: digest(tmp_path / "out" / name) for name in OUTPUTS[1:]},
        "job": "prepare_corpus/in",
        "code": "c0de",
        "format": 1,
        "documents_footer_sha256": footer_digest(tmp_path / "out/documents.parquet"),
    }
    assert [record.levelname for record in caplog.records if record.levelno >= logging.WARNING] == ["WARNING"]
    assert (
        f"{folder}/qrels/test.tsv: 2 of 6 judged documents are not in the corpus (first 'gone'), 1 of 3 relevant ones"
        in caplog.text
    )
    assert pq.read_table(tmp_path / "out/queries.parquet").to_pydict() == {"query_id": ["q1", "q2"], "text": ["a", "b"]}
    qrels = pq.read_table(tmp_path / "out/qrels.parquet").to_pydict()
    assert qrels["doc_id"] == ["d1", "d2", "gone", "d3", "d4", "lost"]


@pytest.mark.parametrize(
    ("files", "queries", "official", "says"),
    [
        ({}, 1, None, []),
        ({"corpus.jsonl": True, "qrels/dev.tsv": False}, 1, True, []),
        ({"corpus.jsonl": True, "queries.jsonl": False}, 1, False, ["queries.jsonl: sha256 "]),
        ({"qrels/test.tsv": False}, 2, False, ["qrels/test.tsv: sha256 ", "1 judged queries, expected 2"]),
    ],
)
def test_data_is_official_if_the_catalogue_knows_it_and_all_that_was_read_agrees(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, files: dict[str, bool], queries: int, official: bool | None, says: list[str]
) -> None:
    folder = write(tmp_path / "in", {"d1": "text"})
    known = {name: digest(folder / name) if agrees else "0" * 64 for name, agrees in files.items()}
    assert prepare(folder, tmp_path / "out", queries=queries, files=known)["official"] is official
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == len(says)
    for warning, said in zip(warnings, says, strict=True):
        assert warning.startswith("this is not the official data, so no published score is comparable: ")
        assert said in warning


def damage(folder: Path, name: str, content: bytes | None) -> Path:
    """Replace or remove a file of a dataset, or pack it with a wrong checksum; return the source."""
    if name == "in.zip":
        archive = zip_folder(folder, folder.with_suffix(".zip"))
        crc = zipfile.ZipFile(archive).getinfo("in/corpus.jsonl").CRC
        archive.write_bytes(archive.read_bytes().replace(crc.to_bytes(4, "little"), b"\0\0\0\0"))
        return archive
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    return folder


TWICE = b'{"_id": "d1", "text": "x"}\n{"_id": "d2", "text": ""}\n\n{"_id": "d1", "text": "y"}'
CUT = b'{"_id": "d1", "text": "x"}\n{"_id": "d2'
DAMAGES = {
    "empty": ("corpus.jsonl", b"", "in/corpus.jsonl: the corpus is empty; at least one document was expected"),
    "blank": ("corpus.jsonl", b"\n \r\n", "in/corpus.jsonl: the corpus is empty"),
    "truncated": ("corpus.jsonl", CUT, "in/corpus.jsonl:2: expected a JSON object"),
    "twice": ("corpus.jsonl", TWICE, "in/corpus.jsonl:4: the document id 'd1' is already in line 1; ids must be unique"),
    "fewer": ("corpus.jsonl", CUT[:26], "in/corpus.jsonl: expected 2 documents, found 1; is this"),
    "no queries": ("queries.jsonl", None, "in/queries.jsonl: this file is missing"),
    "unknown query": ("qrels/test.tsv", b"q9\td1\t1\n", "in/qrels/test.tsv: 1 judged query is not in "),
    "bad checksum": ("in.zip", None, "in.zip:in/corpus.jsonl: the archive is damaged (Bad CRC"),
}


@pytest.mark.parametrize(("name", "content", "says"), DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("prepared_before", [False, True])
def test_bad_input_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | None, says: str, prepared_before: bool
) -> None:
    monkeypatch.setattr(source_module, "BLOCK_BYTES", 1)
    folder, out = write(tmp_path / "in", {"d1": "eins", "d2": "zwei"}), tmp_path / "out"
    if prepared_before:
        prepare(folder, out)
    before = {name: (out / name).read_bytes() for name in files_in(out)}
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/{says}")):
        prepare(damage(folder, name, content), out, documents=2)
    assert {name: (out / name).read_bytes() for name in files_in(out)} == before
    assert sorted(before) == (OUTPUTS if prepared_before else [])


def test_what_a_killed_job_leaves_behind_does_not_matter(tmp_path: Path) -> None:
    folder, out = write(tmp_path / "in", {"d1": "eins", "d2": "zwei!"}), tmp_path / "out"
    token = "0123456789abcdef"
    (out / f".partial-prepare.{token}").mkdir(parents=True)
    for name in (f".partial-prepare.{token}/chunk-0.txt", f".partial-documents.{token}.parquet"):
        (out / name).write_text("half")
    prepare(folder, out, chunks=2, documents=2)
    assert chunks_in(out) == [[("d2", "zwei!")], [("d1", "eins")]]
    assert files_in(out) == OUTPUTS


def test_a_sample_of_documents_is_a_corpus_of_its_own(tmp_path: Path) -> None:
    texts = {f"d{number}": f"text {number // 3}" * (number % 4 + 1) for number in range(60)}  # some are equal
    judged = {f"q{number}": {f"d{number}": 1, f"d{number + 20}": 1} for number in range(40)}
    source = write_beir(tmp_path / "in", texts, dict.fromkeys(judged, "which?"), judged)
    samples = {"document_sample": {"documents": 20, "seed": 1}, "sample": {"queries": 5, "seed": 2}}
    official = prepare(source, tmp_path / "whole")["source_sha256"]
    record = prepare(source, tmp_path / "out", chunks=3, documents=60, files=official, more={"part_of": "in", **samples})
    assert (record["part_of"], record["official"]) == ("in", False)
    found = [row for chunk in chunks_in(tmp_path / "out") for row in chunk]
    rows = drawn(texts, wanted=20, seed=1).tolist()
    assert dict(found) == {doc_id: text for number, (doc_id, text) in enumerate(texts.items()) if number in rows}
    assert chunks_in(tmp_path / "out") == dealt(dict(found), 3)
    assert record["counts"]["distinct_texts"] == len({text for _, text in found})
    assert record["document_sample"] == {"documents": 20, "seed": 1, "of": 60}
    left = {query for query, documents in judged.items() if documents.keys() & dict(found).keys()}
    assert record["sample"] == {"queries": 5, "seed": 2, "of": len(left)}
    qrels = pq.read_table(tmp_path / "out/qrels.parquet").to_pydict()
    assert set(qrels["doc_id"]) <= dict(found).keys()
    assert (len(set(qrels["query_id"])), record["counts"]["judgements_without_document"]) == (5, 0)


DOCUMENTS = {"1": "cats purr", "2": "dogs bark", "3": {"title": "Fish", "text": "swim"}, "q4": "the fourth query"}
STATED = SelfMatches(stated_by="configuration")


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def numbered_alike(folder: Path) -> Path:
    """Queries and documents that are numbered independently: the relevant document of 1 and 3 has the number of its query."""
    queries = {"1": "which animal purrs?", "2": "which animal barks?", "3": "what swims?"}
    return write_beir(folder, DOCUMENTS, queries, {"1": {"1": 1}, "2": {"2": 0, "1": 1}, "3": {"3": 2}})


def test_relevant_documents_with_the_number_of_their_query_are_dropped_only_where_that_is_stated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = numbered_alike(tmp_path / "in")
    with pytest.raises(DataError) as caught:
        prepare(folder, tmp_path / "out", self_matches=SelfMatches(dataset="mine"))
    says = str(caught.value)
    assert "qrels/test.tsv: 2 of 3 relevant documents have the id of their query, but not its text (first '1')" in says
    assert f"under custom.datasets.mine, next to 'path: {folder}': 'drop_self_matches: false' to keep" in says
    assert "or 'drop_self_matches: true' to drop" in says
    assert not files_in(tmp_path / "out")
    record = prepare(folder, tmp_path / "out", self_matches=STATED)
    assert (record["counts"]["relevant"], record["counts"]["relevant_self_match"]) == (3, 2)
    (warning,) = warned(caplog)
    assert "2 of 3 relevant documents are dropped as self matches" in warning
    assert "(first '1' of the query '1'), so no system can find them" in warning
    caplog.clear()
    kept = prepare(folder, tmp_path / "kept", self_matches=SelfMatches(drop=False, stated_by="configuration"))
    assert not warned(caplog)
    # Which of them is chosen changes no file, and so encodes nothing again.
    assert kept == record
    known = SelfMatches(stated_by="catalogue")  # which counts for the data that it knows
    assert prepare(folder, tmp_path / "out", self_matches=known, queries=3)["counts"]["relevant_self_match"] == 2
    with pytest.raises(DataError, match=r"under custom\.datasets for a dataset with a name of its own"):
        prepare(folder, tmp_path / "others", self_matches=known, queries=4)


@pytest.mark.parametrize("spelled", ["Fish swim", "swim", " FISH ", "fish\n swim"])
def test_a_query_that_is_a_document_needs_no_statement(tmp_path: Path, caplog: pytest.LogCaptureFixture, spelled: str) -> None:
    folder = write_beir(tmp_path / "in", DOCUMENTS, {"3": spelled, "q4": "The fourth query"}, {"3": {"3": 1}, "q4": {"1": 1}})
    assert prepare(folder, tmp_path / "out")["counts"]["relevant_self_match"] == 1
    assert "1 of 2 relevant documents are dropped as self matches" in warned(caplog)[0]


def test_relevant_documents_that_a_query_excludes_or_does_not_rank_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    queries = {
        "a": {"text": "x", "excluded_ids": ["1", "2", "N/A"], "candidate_ids": ["1", "3"]},
        "b": {"text": "y", "candidate_ids": ["q4", "9"]},
    }
    folder = write_beir(tmp_path / "in", DOCUMENTS, queries, {"a": {"1": 1, "3": 1}, "b": {"q4": 0, "2": 1, "gone": 2}})
    counts = prepare(folder, tmp_path / "out", more={"relevant_from": None})["counts"]
    lost = {name: counts[name] for name in counts if name.startswith("relevant_")}
    assert lost == {"relevant_without_document": 1, "relevant_excluded": 1, "relevant_not_candidate": 1}
    known = "1 of 4 relevant documents are"
    assert [warning.partition("test.tsv: ")[2] for warning in warned(caplog)] == [
        "1 of 5 judged documents are not in the corpus (first 'gone'), 1 of 4 relevant ones",
        f"{known} in excluded_ids of their query (first '1' of the query 'a'), so no system can find them",
        f"{known} not in candidate_ids of their query (first '2' of the query 'b'), so no system can find them",
        "1 of 4 candidates of queries are not in the corpus",
    ]


@pytest.mark.parametrize(
    ("judged", "inside", "says"),
    [
        ("Sd01-A1", "d1", "(first 'Sd01-A1'), all 1 of 1 relevant ones"),
        ("d01 ", "d01", "the corpus has 'd01', which differs from 'd01 ' only in white space at its ends"),
        ("1", "0001", "the corpus has '0001', which differs from '1' only in zeros in front"),
        ("cafe\u0301", "caf\u00e9", r"the corpus has 'caf\xe9', which differs from 'cafe\u0301' only in the form of Unicode"),
        ("D1", "d1", "the corpus has 'd1', which differs from 'D1' only in capital letters"),
        ("D01 ", "d01", "the corpus has 'd01', which differs from 'D01 ' only in spelling"),
    ],
)
def test_judgements_that_name_nothing_of_the_corpus_are_all_named_with_differences_that_are_hard_to_see(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, judged: str, inside: str, says: str
) -> None:
    folder = write_beir(tmp_path / "in", {inside: "text", "other": "more"}, {"q": "text"}, {"q": {judged: 1}})
    assert prepare(folder, tmp_path / "out")["counts"]["relevant_without_document"] == 1
    (warning,) = warned(caplog)
    assert "all 1 of 1 judged documents are not in the corpus" in warning
    assert warning.endswith(says)


@pytest.mark.parametrize(("least", "grades"), [(None, {"1": 0, "2": -1}), (2, {"1": 1, "2": 0})])
def test_judgements_without_anything_relevant_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, least: int | None, grades: dict[str, int]
) -> None:
    folder = write_beir(tmp_path / "in", DOCUMENTS, {"q": "text"}, {"q": grades})
    assert prepare(folder, tmp_path / "out", more={"relevant_from": least})["counts"]["relevant"] == 0
    (warning,) = warned(caplog)
    highest = f"the highest grade is {grades['1']}, expected {least or 1}"
    assert warning.endswith(f"none of the 2 judged documents is relevant: {highest}")


FOLLOWIR = {
    "t-a": {"text": "x", "topic_id": "t", "changed_ids": ["1"]},
    "t-b": {"text": "y", "topic_id": "t"},
    "u-a": {"text": "x", "topic_id": "u", "changed_ids": ["2"]},
    "u-b": {"text": "y", "topic_id": "u"},
}


def test_topics_that_a_sample_of_documents_breaks_are_left_out_or_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judged = {"t-a": {"1": 1}, "t-b": {"2": 1}, "u-a": {"2": 1, "3": 0}, "u-b": {"2": 0, "3": 1}}
    folder = write_beir(tmp_path / "in", DOCUMENTS, FOLLOWIR, judged)
    taken = {seed: {[*DOCUMENTS][row] for row in drawn([*DOCUMENTS], wanted=2, seed=seed)} for seed in range(40)}
    # Of the documents 2 and 3, one topic is whole; of 1 and 3, none.
    broken, none = (next(seed for seed, ids in taken.items() if ids == wanted) for wanted in ({"2", "3"}, {"1", "3"}))
    record = prepare(folder, tmp_path / "out", more={"document_sample": {"documents": 2, "seed": broken}})
    assert "1 of 2 topics lost a query, or all documents that the other query changes" in caplog.text
    assert set(pq.read_table(tmp_path / "out/qrels.parquet")["topic_id"].to_pylist()) == {None, "u"}
    assert record["counts"]["queries"] == 3
    sample = {"more": {"document_sample": {"documents": 2, "seed": none}}}
    prepare(folder, tmp_path / "none", **sample)
    assert pq.read_table(tmp_path / "none/qrels.parquet").column_names == ["query_id", "doc_id", "score"]
    with pytest.raises(DataError, match=r"none of the 2 topics is whole in this sample, so p-MRR@10, the main measure"):
        prepare(folder, tmp_path / "refused", **sample, topic_measure="p-MRR@10")
