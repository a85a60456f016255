"""A record of an interrupted job is used only if it is, bit for bit, what was written for the same job."""

from contextlib import suppress
from pathlib import Path

import pytest

from beirflow.core.errors import DataError
from beirflow.core.resume import ResumeFile

MADE_FROM = {"settings": {"seed": 1}, "code": "c0de"}
RECORDS = [b"one\n", b"", bytes(6)]
ENDS = [44, 84, 130]
"""Of each record with its head of 40 bytes."""


def write(path: Path, records: list[bytes], made_from: dict[str, object] = MADE_FROM) -> bytes:
    with ResumeFile(path, made_from) as file:
        for each in records:
            with file.record() as stream:
                stream.write(each)
    return path.read_bytes()


def read(path: Path, made_from: dict[str, object] = MADE_FROM) -> list[bytes]:
    """The records that are there, by the bytes from each to the head of the next."""
    with ResumeFile(path, made_from) as file:
        ends = [*file.places[1:], path.stat().st_size][: len(file.places)]
        return [file.read(place).read(end - place - 40) for place, end in zip(file.places, ends, strict=True)]


def test_records_are_there_again_and_more_can_follow_but_not_through_a_link(tmp_path: Path) -> None:
    path, other = tmp_path / "deep" / "file", tmp_path / "other"
    other.write_bytes(b"precious")
    path.parent.mkdir()
    path.symlink_to(other)
    write(path, RECORDS[:1])
    write(path, RECORDS[1:])
    assert read(path) == RECORDS
    assert other.read_bytes() == b"precious"


def test_every_flipped_bit_drops_its_record_and_those_behind_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "file"
    whole = write(path, RECORDS)
    for place in range(len(whole)):
        for bit in {0, place % 8, 7}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            caplog.clear()
            untouched = sum(end <= place for end in ENDS)
            assert read(path) == RECORDS[:untouched]
            assert f"{path}: " in caplog.text
            assert f"behind {untouched} whole records, do not match their digest" in caplog.text
    assert write(path, RECORDS[untouched:]) == whole
    path.write_bytes(whole[: ENDS[1] + 3])  # cut off
    assert read(path) == RECORDS[:2]


def test_a_record_that_is_damaged_while_the_file_is_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, RECORDS)
    with ResumeFile(path, MADE_FROM) as file:
        with path.open("r+b") as stream:
            stream.seek(41)
            stream.write(b"X")
        with pytest.raises(DataError, match=r"file: the record at byte 0 does not match its digest; .*rm "):
            file.read(file.places[0])


def test_a_record_that_is_not_finished_and_those_of_another_job_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, RECORDS)
    with ResumeFile(path, MADE_FROM) as file, suppress(KeyboardInterrupt), file.record() as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert read(path) == RECORDS
    assert read(path, MADE_FROM | {"code": "other"}) == []
    assert path.read_bytes() == b""
