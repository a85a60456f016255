"""A large corpus is counted once, and again when it is another."""

import os
import shutil
from pathlib import Path

import pytest

from beir_writer import write_beir, zip_folder
from beirflow.core.errors import ConfigError
from beirflow.data import counts
from beirflow.data.counts import COUNTS, known_documents
from beirflow.data.sources.beir_files import Source
from listening import heard


@pytest.fixture(autouse=True)
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of datasets that were opened; the working directory is a fresh one, and no corpus is small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(counts, "SMALL_BYTES", 0)
    return heard(monkeypatch, Source, "open", Source.where)


def dataset(folder: Path, documents: int = 3) -> Path:
    return write_beir(folder, {f"d{i}": "a" for i in range(documents)}, {"q": "a"}, {"q": {"d0": 1}})


def test_a_corpus_is_counted_again_only_if_it_changed_or_the_count_cannot_be_read(tmp_path: Path, reads: list[str]) -> None:
    folder = dataset(tmp_path / "mine")

    def found() -> list[int]:
        reads.clear()
        return [known_documents(str(folder), None) for _ in range(2)]

    assert (found(), len(reads)) == ([3, 3], 1)
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"_id": "another", "text": "a"}\n')
    assert (found(), len(reads)) == ([4, 4], 1)
    [kept] = COUNTS.iterdir()
    for content in (b"", b"{", b'{"documents": 7}', b"[]", b"\xff"):
        kept.write_bytes(content)
        assert (found(), len(reads)) == ([4, 4], 1)
    shutil.rmtree(COUNTS.parents[1])
    COUNTS.parents[1].write_text("no folder")
    assert (found(), len(reads)) == ([4, 4], 2)  # and one that cannot be kept is no error


def test_archives_forums_and_folders_of_one_name_are_told_apart(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "COUNTS", tmp_path / "counts")
    sources: list[str] = []
    for place, sizes in (("one", {"a": 1, "b": 2}), ("two", {"a": 3, "b": 4})):
        for forum, documents in sizes.items():
            os.utime(dataset(tmp_path / place / "stack" / forum, documents) / "corpus.jsonl", ns=(10**18, 10**18))
    sources = [
        str(tmp_path / "one/stack"),
        str(zip_folder(tmp_path / "one/stack", tmp_path / "stack.zip")),
        str(tmp_path / "two/stack"),
    ]
    for _ in range(2):
        assert [known_documents(each, forum) for each in sources for forum in "ab"] == [1, 2, 1, 2, 3, 4]
    assert len(reads) == 6


def test_of_a_small_corpus_nothing_is_kept_and_one_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert known_documents(str(dataset(tmp_path / "mine")), None) == 3
    assert not COUNTS.exists()
    with pytest.raises(ConfigError, match=r"corpus\.jsonl: this file is missing"):
        known_documents(str(tmp_path), None)
