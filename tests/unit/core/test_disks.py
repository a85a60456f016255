"""Refusals of a disk are put in words, whichever library ran into them."""

import errno
import logging
import os
import time
from pathlib import Path

import pytest

from beirflow.core.disks import check_dates, disk_problem, written_here
from beirflow.core.errors import DataError
from beirflow.core.writing import atomic_path
from beirflow.run.job import surroundings

FULL = Path("/dev/full")
NEEDS_FULL = pytest.mark.skipif(not FULL.is_char_device(), reason="there is no /dev/full here")


@NEEDS_FULL
def test_a_full_disk_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), surroundings(str(tmp_path / "job.log")), written_here(tmp_path / "out.parquet"):
        FULL.write_text("something")
    for text in (capsys.readouterr().err, (tmp_path / "job.log").read_text()):
        assert f"ERROR: {tmp_path}/out.parquet: the disk is full (" in text.replace(" ERROR ", " ERROR: ")
        assert "make room" in text
        assert "Traceback" not in text


@NEEDS_FULL
def test_a_log_without_room_keeps_no_job_from_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    with surroundings(str(FULL)):
        logging.getLogger("beirflow.any").warning("heard on the terminal")
    assert capsys.readouterr().err == "WARNING: heard on the terminal\n"


def test_a_file_is_named_only_where_no_other_name_is_known(tmp_path: Path) -> None:
    def fail(error: OSError) -> None:
        with atomic_path(tmp_path / "out"):
            raise error

    for error, name in (
        (OSError(errno.ENOSPC, "full"), str(tmp_path / "out")),
        (OSError(errno.ENOSPC, "full", "other"), "other"),
        (OSError(errno.EIO, "broken"), str(tmp_path / "out")),
        (OSError("no number"), None),
    ):
        with pytest.raises(OSError, match=error.strerror or "no number") as raised:
            fail(error)
        assert raised.value.filename == name


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "the disk is full (words); free there, not counting the unfinished files of this job: "),
        (errno.EDQUOT, "the quota on this disk is used up (words); free there"),
        (errno.EROFS, "the disk is mounted read-only (words); let the user who runs this read and write there"),
        (errno.EACCES, "permission denied (words); let the user who runs this read and write there"),
        (errno.EIO, "the disk failed (words); check the disk, and run the same command again"),
    ],
)
def test_every_refusal_has_its_words_and_other_errors_have_none(tmp_path: Path, number: int, says: str) -> None:
    assert (disk_problem(OSError(number, "words", str(tmp_path / "not/there"))) or "").startswith(f"{tmp_path}/not/there: {says}")
    assert disk_problem(FileNotFoundError(errno.ENOENT, "words", "file")) is disk_problem(OSError("no number at all")) is None


def test_files_dated_in_the_future_are_refused_by_the_later_of_two_clocks(tmp_path: Path) -> None:
    written, source, missing = tmp_path / "lock", tmp_path / "corpus.jsonl", str(tmp_path / "none")
    source.touch()
    check_dates([str(source), missing], written)  # which could not be written
    later = time.time() + 3600
    os.utime(source, (later, later))
    with pytest.raises(DataError, match=rf"^{source} is dated .*\n    find {tmp_path} -newermt now -exec touch -t"):
        check_dates([missing, str(source)], written)
    written.touch()
    os.utime(written, (later, later))  # the disk of another machine, whose clock is ahead, has both
    check_dates([str(source)], written)
