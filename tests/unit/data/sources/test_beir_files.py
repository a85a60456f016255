"""Datasets in BEIR form: what is read, and what is refused with which words."""

import hashlib
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beir_writer import write_beir, zip_folder
from beirflow.core.errors import ConfigError, DataError
from beirflow.data.corpus_reader import read_batches
from beirflow.data.counts import count_documents
from beirflow.data.sources import source as source_module
from beirflow.data.sources.beir_files import Judgement, Source, judgement_line, read_judgements, read_queries, required_files
from refusals import refused

GOOD = b'{"_id": "d1", "text": "one"}\n'
DOCUMENTS = {"d1": "one", "d2": {"title": "Two", "text": "zwei"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "tiny", DOCUMENTS, {"q1": "which?"}, {"q1": {"d1": 1, "d2": 0}})


def documents(source: Source | Path, forum: str | None = None) -> list[tuple[int, str, str]]:
    """Line number, id and joined text of every document."""
    source = Source(source, forum) if isinstance(source, Path) else source
    batches = [(batch.lines.tolist(), batch.documents.to_pydict()) for batch in read_batches(source)]
    columns = [(lines, found["doc_id"], found["text"]) for lines, found in batches]
    return [document for batch in columns for document in zip(*batch, strict=True)]


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_are_numbered_over_blocks(folder: Path, monkeypatch: pytest.MonkeyPatch, block: int, end: bytes) -> None:
    monkeypatch.setattr(source_module, "BLOCK_BYTES", block)
    content = end.join(
        [b"", '{"_id": "é", "text": "日本 🦊"}'.encode(), b"  ", b'{"_id": "d2", "title": null, "text": "", "url": 1}']
    )
    (folder / "corpus.jsonl").write_bytes(content)
    source = Source(folder)
    assert documents(source) == [(2, "é", "日本 🦊"), (4, "d2", "")]
    assert source.digests == {"corpus.jsonl": hashlib.sha256(content).hexdigest()}
    assert count_documents(folder) == 2


BAD_RECORDS = {
    "truncated": (b'{"_id": "d2", "text": "cut o', ["expected a JSON object", '"cut o', "truncated"]),
    "no JSON": (b"d2 two", ["expected a JSON object", "found 'd2 two'"]),
    "two objects": (b'{"_id": "d2", "text": "x"} {}', ["expected a JSON object on one line"]),
    "a list": (b'["d2"]', ["expected a JSON object", "found ['d2']"]),
    "no id": (b'{"id": "d2", "text": "x"}', ["'_id' is missing; keys here: id, text"]),
    "null as id": (b'{"_id": null, "text": "x"}', ["'_id' must be a non-empty string", "or an integer, found null"]),
    "a fraction as id": (b'{"_id": 7.5, "text": "x"}', ["'_id' must be", "found 7.5"]),
    "an empty id": (b'{"_id": "", "text": "x"}', ["'_id' must be a non-empty string", "found ''"]),
    "half of a surrogate pair as id": (b'{"_id": "\\udcb2"}', ["found half of a surrogate pair in '\\udcb2'"]),
    "latin-1": ('{"_id": "d2", "text": "café"}'.encode("latin-1"), ["expected UTF-8", "0xe9 at position 27"]),
    "a surrogate as bytes": (b'{"_id": "d2", "text": "\xed\xa0\x80"}', ["expected UTF-8", "0xed at position 24"]),
}
BAD_DOCUMENTS = {
    "no text": (b'{"_id": "d2", "contents": "x"}', ["'text' is missing; keys here: _id, contents"]),
    "null text": (b'{"_id": "d2", "text": null}', ["'text' must be a string, found null"]),
    "half of a surrogate pair": (b'{"_id": "d2", "text": "\\udcb2"}', ["'text' must be a string, found half of a surrogate"]),
    "a number as text": (b'{"_id": "d2", "text": 5}', ["'text' must be a string", "found 5"]),
    "a list as title": (b'{"_id": "d2", "title": ["x"], "text": "x"}', ["'title' must be a string or null", "found ['x']"]),
    "a number as title": (b'{"_id": "d2", "title": 0, "text": "x"}', ["'title' must be a string or null", "found 0"]),
}


@pytest.mark.parametrize("bad", [*BAD_RECORDS, *BAD_DOCUMENTS])
def test_a_bad_document_or_query_is_named_by_archive_file_and_line(folder: Path, bad: str) -> None:
    line, says = (BAD_RECORDS | BAD_DOCUMENTS)[bad]
    (folder / "corpus.jsonl").write_bytes(GOOD + b"\n" + line + b"\n" + GOOD)
    with refused(DataError, f"{folder}/corpus.jsonl:3: ", *says):
        documents(folder)
    if bad in BAD_RECORDS:
        (folder / "queries.jsonl").write_bytes(GOOD + line)
        archive = zip_folder(folder, folder.with_suffix(".zip"))
        with refused(DataError, f"{archive}:tiny/queries.jsonl:2: ", *says):
            list(read_queries(Source(archive)))


def test_ids_may_be_integers_and_what_nobody_reads_may_be_half_a_surrogate_pair(folder: Path) -> None:
    (folder / "corpus.jsonl").write_bytes(b'{"_id": 7, "text": "one", "url": ["\\udcb2"], "more": {"a": "\\ud800"}}\n')
    (folder / "queries.jsonl").write_bytes(b'{"_id": -1, "text": "?", "more": "\\udcb2"}\n')
    assert (documents(folder), list(read_queries(Source(folder)))) == ([(1, "7", "one")], [(1, "-1", "?", {})])


def test_a_byte_order_mark_is_no_part_of_any_file(folder: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    source = Source(folder)
    assert list(read_judgements(source, "test")) == [(2, Judgement("q1", "d1", 1)), (3, Judgement("q1", "d2", 0))]
    assert documents(source) == [(1, "d1", "one"), (2, "d2", "Two zwei")]
    assert list(read_queries(source)) == [(1, "q1", "which?", {})]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"query-id\tcorpus-id\tscore\r\nq1\td1\t1\r\nq 2\t\xc3\xa9\t-1", [(2, "q1", "d1", 1), (3, "q 2", "é", -1)]),
        (b"Query_ID\tcorpus_id\tScore\nq1\td1\t1\n", [(2, "q1", "d1", 1)]),
        (b"corpus-id\tscore\tquery-id\nd1\t1\tq1\n", [(2, "q1", "d1", 1)]),
        # A comment is no judgement, but a query may begin like one.
        (b"# by hand\tin May\n#\nquery-id\tcorpus-id\tscore\nq1\td1\t1\n#2\td1\t1", [(4, "q1", "d1", 1), (5, "#2", "d1", 1)]),
        (b"q1\td1\t2.0\nq1\td2\t-1.\n", [(1, "q1", "d1", 2), (2, "q1", "d2", -1)]),
        # Quotation marks around a column are none of its own.
        (b'"q1"\t"the ""d2"""\t"1"\nq1\t<a:"d3"_(b)>\t0', [(1, "q1", 'the "d2"', 1), (2, "q1", '<a:"d3"_(b)>', 0)]),
    ],
    ids=["line ends", "header", "order of columns", "comments", "floats", "quotation marks"],
)
def test_qrels_are_read_as_other_tools_read_them(folder: Path, content: bytes, expected: list[tuple[int, str, str, int]]) -> None:
    (folder / "qrels/test.tsv").write_bytes(content)
    assert [(number, *judgement) for number, judgement in read_judgements(Source(folder), "test")] == expected


@given(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=4)] * 2)
def test_a_judgement_line_is_read_as_it_was_meant(tmp_path_factory: pytest.TempPathFactory, query: str, document: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "judgement"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "qrels/test.tsv").write_bytes(b"query-id\tcorpus-id\tscore\n" + judgement_line(query, document, -2))
    assert list(read_judgements(Source(folder), "test")) == [(2, Judgement(query, document, -2))]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"q1\td1", "expected query id, document id and score between tabs, found 'q1\\td1'"),
        (b"q1 0 d1 1", "expected query id, document id and score between tabs, found 'q1 0 d1 1'"),
        *(
            (line, "expected query id, document id and score")
            for line in (b"q1\t0\td1\t1", b"\td1\t1", b"q1\t\t1", b'q1\t"d1\t1')
        ),
        (b'q1\t"d"\r1\t1', "expected columns between tabs, found"),
        *((f"q1\td1\t{score}".encode(), f"an integer, found '{score}'") for score in ("1.5", "", "nan", "1e3", "٣", "9" * 500)),
        (b"query-id\tcorpus-id\tscore", "the score must be an integer, found 'score'"),
        (b"q1\tcaf\xe9\t1", "expected UTF-8, found b'q1\\tcaf\\xe9\\t1'"),
    ],
)
def test_a_bad_judgement_is_named_by_file_and_line(folder: Path, line: bytes, says: str) -> None:
    (folder / "qrels/test.tsv").write_bytes(b"q1\td1\t1\n\n" + line + b"\n")
    with refused(DataError, f"{folder}/qrels/test.tsv:3: ", says):
        list(read_judgements(Source(folder), "test"))


def test_a_folder_that_lacks_files_is_refused_by_their_names(folder: Path) -> None:
    names = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
    assert required_files(folder, None, "test") == [str(folder / name) for name in names]
    with pytest.raises(ConfigError, match=re.escape(f"{folder}: ") + ".* it has no qrels/dev.tsv; splits are test$"):
        required_files(folder, None, "dev")
    with pytest.raises(ConfigError, match=re.escape(f"{folder}/wiki: ") + ".*no corpus.jsonl, queries.jsonl, qrels/test.tsv$"):
        required_files(folder, "wiki", "test")
    with pytest.raises(ConfigError, match=r"corpus.jsonl is a file; expected a folder"):
        required_files(folder / "corpus.jsonl", None, "test")


@pytest.mark.parametrize("packed", [False, True])
def test_a_missing_file_is_named(folder: Path, packed: bool) -> None:
    path = zip_folder(folder, folder.with_suffix(".zip")) if packed else folder
    where = f"{path}:tiny/qrels/dev.tsv" if packed else f"{path}/qrels/dev.tsv"
    with pytest.raises(DataError, match=re.escape(f"{where}: this file is missing")):
        list(read_judgements(Source(path), "dev"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_forum_is_found_in_an_archive_and_in_a_folder(tmp_path: Path, packed: bool) -> None:
    for forum in ("gaming", "wordpress"):
        write_beir(tmp_path / "forums" / forum, {forum: "text"}, {"q": "?"}, {"q": {forum: 1}})
    path = zip_folder(tmp_path / "forums", tmp_path / "forums.zip") if packed else tmp_path / "forums"
    assert documents(path, "wordpress") == [(1, "wordpress", "text")]
    assert count_documents(path, "gaming") == 1
    with pytest.raises(ConfigError, match=r"physics/corpus\.jsonl"):
        count_documents(path, "physics")
    if packed:
        with refused(DataError, f"{path}: expected one corpus.jsonl", "found 2", "forums/gaming/corpus.jsonl"):
            Source(path)


@pytest.mark.parametrize("name", ["../evil.txt", "tiny/../../evil.txt", "/etc/evil", "..\\evil.txt", "\\evil.txt", "C:/evil.txt"])
def test_an_archive_with_a_member_outside_its_folder_is_refused(folder: Path, name: str) -> None:
    archive = zip_folder(folder, folder.with_suffix(".zip"))
    with zipfile.ZipFile(archive, "a") as target:
        target.writestr(name, "evil")
    with pytest.raises(DataError, match=re.escape(f"{archive}: the archive has a member that would leave its folder, {name!r}")):
        Source(archive)


def test_an_absent_or_truncated_archive_is_refused(folder: Path) -> None:
    archive = folder.with_suffix(".zip")
    with pytest.raises(DataError, match=re.escape(f"{archive}: there is no such archive")):
        Source(archive)
    whole = zip_folder(folder, archive).read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        archive.write_bytes(whole[:size])
        with pytest.raises(
            DataError, match=re.escape(f"{archive}: not a zip archive that can be read") + f".*; replace it.* rm {archive}$"
        ):
            Source(archive)


def test_an_archive_with_one_byte_changed_gives_the_same_documents_or_an_error(folder: Path) -> None:
    (folder / "Größe.txt").write_text("a name in UTF-8")
    archive = zip_folder(folder, folder.with_suffix(".zip"))
    whole, expected, refusals = archive.read_bytes(), documents(archive), []
    for position in range(len(whole)):
        archive.write_bytes(whole[:position] + bytes([255 - whole[position]]) + whole[position + 1 :])
        try:
            assert documents(archive) == expected
        except DataError as error:
            refusals.append(str(error))
    assert len(refusals) > len(whole) // 4
    assert all(refusal.startswith(f"{archive}:") for refusal in refusals)
