"""A large corpus is counted once, and again when it is another."""

import os
import shutil
from pathlib import Path

import pytest

from beir_writer import write_beir, zip_folder
from beirflow.config import datasets as experiment_datasets
from beirflow.config.load import load_experiment
from beirflow.core.digests import SMALL_BYTES
from beirflow.core.errors import ConfigError
from beirflow.data import counts
from beirflow.data.counts import COUNTS, known_documents
from beirflow.data.sources.beir_files import Source
from listening import heard


@pytest.fixture(autouse=True)
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of datasets that were opened; the working directory is a fresh one."""
    monkeypatch.chdir(tmp_path)
    return heard(monkeypatch, Source, "open", Source.where)


def large(folder: Path, documents: int = 3) -> Path:
    """A dataset whose corpus is not small."""
    return write_beir(folder, {f"d{i}": "a" * SMALL_BYTES for i in range(documents)}, {"q": "a"}, {"q": {"d0": 1}})


def test_the_second_start_does_not_read_the_corpus(tmp_path: Path, reads: list[str]) -> None:
    folder = large(tmp_path / "mine")
    config = {"datasets": ["mine"], "custom": {"datasets": {"mine": {"path": str(folder)}}}}
    for _ in range(2):
        experiment_datasets._counted.cache_clear()  # a process of its own has none
        assert load_experiment(config).documents("mine") == 3
        assert reads == [str(folder / "corpus.jsonl")]


def test_a_changed_corpus_is_counted_again(tmp_path: Path, reads: list[str]) -> None:
    folder = large(tmp_path / "mine")
    assert known_documents(str(folder), None) == 3
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"_id": "another", "text": "a"}\n')
    assert [known_documents(str(folder), None) for _ in range(2)] == [4, 4]
    assert len(reads) == 2
    os.utime(folder / "corpus.jsonl", ns=(1, 1))
    assert known_documents(str(folder), None) == 4
    assert len(reads) == 3


def test_archives_and_forums_are_told_apart(tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "SMALL_BYTES", 0)
    for forum, documents in (("a", 1), ("b", 2)):
        large(tmp_path / "stack" / forum, documents)
    archive = zip_folder(tmp_path / "stack", tmp_path / "stack.zip")
    for _ in range(2):
        for source in (str(tmp_path / "stack"), str(archive)):
            assert [known_documents(source, forum) for forum in ("a", "b")] == [1, 2]
    assert len(reads) == 4


def test_the_same_name_in_another_folder_is_another_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for documents, folder in enumerate(folders, 1):
        large(folder / "mine", documents)
        os.utime(folder / "mine" / "corpus.jsonl", ns=(1, 1))
    monkeypatch.setattr(counts, "COUNTS", tmp_path / "counts")
    for documents, folder in enumerate(folders, 1):
        monkeypatch.chdir(folder)
        assert known_documents("mine", None) == documents


def test_a_count_that_cannot_be_read_or_kept_is_counted_again(tmp_path: Path, reads: list[str]) -> None:
    folder = large(tmp_path / "mine")
    known_documents(str(folder), None)
    [kept] = COUNTS.iterdir()
    for content in (b"", b"{", b'{"documents": 7}', b"[]", b"\xff"):
        kept.write_bytes(content)
        reads.clear()
        assert [known_documents(str(folder), None) for _ in range(2)] == [3, 3]
        assert len(reads) == 1
    shutil.rmtree(COUNTS.parents[1])
    COUNTS.parents[1].write_text("no folder")
    assert [known_documents(str(folder), None) for _ in range(2)] == [3, 3]
    assert len(reads) == 3


def test_of_a_small_corpus_nothing_is_kept_and_one_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "mine", {"d": "a"}, {"q": "a"}, {"q": {"d": 1}})
    assert known_documents(str(folder), None) == 1
    assert not COUNTS.exists()
    with pytest.raises(ConfigError, match=r"corpus\.jsonl: this file is missing"):
        known_documents(str(tmp_path), None)
