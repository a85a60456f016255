"""Digests and states of files, which others may have replaced by what is no file."""

import os
from pathlib import Path

import pytest

from beirflow.core.digests import file_digest, file_state


def test_a_pipe_and_a_device_have_neither_digest_nor_state(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        assert file_state(tmp_path / name) is None
        with pytest.raises(OSError, match=f"no regular file: .*{name}"):
            file_digest(tmp_path / name)


def test_a_file_that_is_not_there_has_no_state_and_a_usual_error(tmp_path: Path) -> None:
    assert file_state(tmp_path / "none") is file_state(None) is None
    with pytest.raises(FileNotFoundError):
        file_digest(tmp_path / "none")
