"""Archives and lines that were made to do harm, or are merely unusual: harmless, or refused in words, with memory bounded."""

import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from beir_writer import write_beir, zip_folder
from beirflow.core.errors import DataError
from beirflow.data.corpus_reader import read_batches
from beirflow.data.sources import source as source_module
from beirflow.data.sources.beir_files import Source, read_queries


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small dataset without faults."""
    return write_beir(tmp_path / "tiny", {"d1": "one", "d2": "two"}, {"q1": "which?"}, {"q1": {"d1": 1}})


@pytest.fixture
def archive(folder: Path) -> Path:
    """The same as an archive."""
    return zip_folder(folder, folder.with_suffix(".zip"))


def documents(path: Path) -> list[dict[str, str]]:
    batches = [batch.documents.select(["doc_id", "text"]) for batch in read_batches(Source(path))]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("name", ["tiny/link", "tiny/qrels/dev.tsv"])
def test_an_archive_with_a_symbolic_link_is_refused(archive: Path, name: str) -> None:
    link = zipfile.ZipInfo(name)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "a") as members:
        members.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match=re.escape(f"{archive}: the archive has a member that is a symbolic link, {name!r}")):
        Source(archive)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_a_member_twice_is_refused(archive: Path) -> None:
    with zipfile.ZipFile(archive, "a") as members:
        members.writestr("tiny/queries.jsonl", '{"_id": "q1", "text": "another"}\n')
    with pytest.raises(DataError, match=r"a member that is there twice, 'tiny/queries\.jsonl'"):
        Source(archive)


def change_directory(archive: Path, name: str, offset: int, content: bytes) -> None:
    """Write into the entry of a member in the archive's directory, and into its header, whose fields stand 2 bytes earlier."""
    data = bytearray(archive.read_bytes())
    entry = data.rindex(name.encode()) - 46
    with zipfile.ZipFile(archive) as members:
        header = members.getinfo(name).header_offset
    for start in (entry + offset, header + offset - 2):
        data[start : start + len(content)] = content
    archive.write_bytes(data)


FLAGS, METHOD, UNPACKED_SIZE = 8, 10, 24


@pytest.mark.parametrize(
    ("offset", "content", "says"),
    [
        (FLAGS, b"\x01\x00", "is encrypted"),
        (METHOD, b"\x63\x00", "compression method is not supported"),
        (UNPACKED_SIZE, (3 << 30).to_bytes(4, "little"), "a member that unpacks to 3,221,225,472 bytes from"),
        (UNPACKED_SIZE, (5).to_bytes(4, "little"), "Bad CRC-32"),
    ],
    ids=["encrypted", "unknown compression", "a bomb that says so", "smaller than it is"],
)
def test_a_member_that_cannot_be_what_it_says_is_refused(archive: Path, offset: int, content: bytes, says: str) -> None:
    change_directory(archive, "tiny/corpus.jsonl", offset, content)
    with pytest.raises(DataError, match=re.escape(f"{archive}:") + f".*{says}"):
        documents(archive)


PEAK = """
import resource, sys
from beirflow.data.sources.beir_files import Source
from beirflow.data.corpus_reader import read_batches
from beirflow.core.errors import DataError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    print([len(batch.lines) for batch in read_batches(Source(sys.argv[1]))])
except DataError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
"""
MEGABYTE = 1_000_000


def peak_of_reading(path: Path) -> tuple[str, int]:
    """Read a corpus in a process of its own; gives its output, and the most memory in bytes that it took."""
    environment = {"PYTHONPATH": str(Path(source_module.__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], env=environment, capture_output=True, text=True, check=True)
    said, peak = done.stdout.splitlines()
    return said, int(peak)


def test_a_line_of_100_megabytes_is_read_with_memory_for_a_few_of_it(folder: Path) -> None:
    (folder / "corpus.jsonl").write_bytes(
        b'{"_id": "d1", "text": "' + b"x" * 100 * MEGABYTE + b'"}\n{"_id": "d2", "text": "y"}\n'
    )
    said, peak = peak_of_reading(folder)
    assert said == "[1, 1]"
    assert peak < 8 * 100 * MEGABYTE


def test_a_file_of_one_endless_line_takes_no_more_memory_than_the_longest_line(folder: Path) -> None:
    with (folder / "corpus.jsonl").open("wb") as stream:
        stream.truncate(8_000 * MEGABYTE)  # takes no room on the disk
    said, peak = peak_of_reading(folder)
    assert said.startswith(f"{folder}/corpus.jsonl:1: expected lines of less than 268,435,456 bytes")
    assert peak < 900 * MEGABYTE


HARMFUL = {
    "lists": b'{"_id": "q1", "text": ' + b"[" * 10**6 + b"}",
    "objects": b'{"_id": "q1", "text": "x", "more": ' + b'{"a":' * 10**6,
    "nul in an id": b'{"_id": "q1\x00", "text": "x"}',
    "surrogate": b'{"_id": "\\ud83d", "text": "x"}',
    "huge": b'{"_id": 1e400, "text": "x"}',
    "utf-16": b"\xff\xfe{\x00",
}


@pytest.mark.parametrize("line", HARMFUL.values(), ids=HARMFUL)
def test_a_line_that_was_made_to_do_harm_is_an_error_with_its_place(folder: Path, line: bytes) -> None:
    for name, read in (
        ("queries.jsonl", lambda: list(read_queries(Source(folder)))),
        ("corpus.jsonl", lambda: documents(folder)),
    ):
        (folder / name).write_bytes(b'{"_id": "d1", "text": "one"}\n' + line + b"\n")
        with pytest.raises(DataError, match=re.escape(f"{folder}/{name}:2: ")) as caught:
            read()
        assert len(str(caught.value)) < len(str(folder)) + 400


def test_members_that_overlap_are_refused(archive: Path) -> None:
    """One compressed text that stands for several files is how a small archive unpacks to petabytes."""
    with zipfile.ZipFile(archive) as members:
        place = members.getinfo("tiny/qrels/test.tsv").header_offset
    data = bytearray(archive.read_bytes())
    entry = data.rindex(b"tiny/queries.jsonl") - 46
    data[entry + 42 : entry + 46] = place.to_bytes(4, "little")
    archive.write_bytes(data)
    with pytest.raises(DataError, match=re.escape(f"{archive}:tiny/queries.jsonl: the archive is damaged")):
        list(read_queries(Source(archive)))
