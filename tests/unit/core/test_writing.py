"""Files are whole or absent, whatever interrupts their writing."""

import hashlib
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from beirflow.core import writing as files
from beirflow.core.digests import file_digest
from beirflow.core.writing import DigestingWriter, atomic_path

PACKAGE_PATH = str(Path(files.__file__).parents[2])

KILLED_WHILE_WRITING = """
import os, signal, sys
from beirflow.core.writing import atomic_path
with atomic_path(sys.argv[1]) as partial, partial.open("w") as stream:
    stream.write("half of the ne")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("old", [None, "old and longer"])
def test_a_file_appears_or_is_replaced_only_when_it_is_whole(tmp_path: Path, old: str | None) -> None:
    path = tmp_path / "deep" / "er" / "out.txt"
    if old:
        path.parent.mkdir(parents=True)
        path.write_text(old)
    with atomic_path(str(path)) as partial:
        partial.write_text("new")
        assert (partial.parent, partial.suffix) == (path.parent, ".txt")
        assert (path.read_text() if path.exists() else None) == old
    assert path.read_text() == "new"
    assert names(path.parent) == ["out.txt"]


def fail_while_writing(path: Path, error: type[BaseException]) -> None:
    with atomic_path(path) as partial:
        partial.write_text("half of the ne")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_or_nothing_written_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with atomic_path(tmp_path / "out.a.txt") as other:
        other.write_text("other")  # whose name begins alike, and stays
        with pytest.raises(error):
            fail_while_writing(path, error)
        with pytest.raises(FileNotFoundError), atomic_path(path):
            pass
    assert path.read_text() == "old"
    assert names(tmp_path) == ["out.a.txt", "out.txt"]


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for name in ("old", "new"):
        with atomic_path(tmp_path / "folder") as partial:
            (partial / "deep").mkdir(parents=True)
            (partial / "deep" / name).write_text(name)
    assert names(tmp_path / "folder/deep") == ["new"]
    with suppress(ValueError), atomic_path(tmp_path / "folder") as partial:
        partial.mkdir()
        raise ValueError
    assert (names(tmp_path), names(tmp_path / "folder/deep")) == (["folder"], ["new"])


def test_a_killed_process_leaves_the_old_file_and_its_leftover_goes_with_the_next_attempt(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(path)]
    for _ in range(2):
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": PACKAGE_PATH}, check=False)
        assert done.returncode == -signal.SIGKILL
        assert path.read_text() == "old"
        assert len(names(tmp_path)) == 2
    with atomic_path(path) as partial:
        partial.write_text("new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out.txt"]


TWO_WRITERS = """
import sys
from beirflow.core.writing import DigestingWriter, atomic_path
with atomic_path(sys.argv[1]) as partial:
    with DigestingWriter(partial) as stream:
        stream.write(sys.argv[2].encode() * 1000)
        print("began", flush=True)
        sys.stdin.readline()
        stream.write(sys.argv[2].encode() * 1000)
        print(stream.digest())
"""


def test_of_two_that_write_a_file_at_the_same_time_one_fails_and_the_file_is_what_the_other_wrote(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    writers = []
    for name in ("A", "B"):
        writer = subprocess.Popen(
            [sys.executable, "-c", TWO_WRITERS, str(path), name],
            env=os.environ | {"PYTHONPATH": PACKAGE_PATH},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout.readline() == "began\n"
        writers.append(writer)
    (_, says), (digest, _) = (writer.communicate("\n", 60) for writer in writers)
    assert [writer.returncode for writer in writers] == [1, 0]
    assert "two jobs write this file at the same time" in says
    assert file_digest(path) == digest.strip()
    assert path.read_text() == "B" * 2000
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("parts", [[], [b""], [b"a", b"", b"bc" * 10**6, b"d"], [bytes([n]) for n in range(100)]])
def test_what_is_written_in_the_background_is_there_in_order_with_its_digest(tmp_path: Path, parts: list[bytes]) -> None:
    with DigestingWriter(tmp_path / "f") as stream:
        assert [stream.write(part) for part in parts] == [len(part) for part in parts]
        digest = stream.digest()
        assert (tmp_path / "f").read_bytes() == b"".join(parts)
        buffer = bytearray(b"first")
        stream.write(buffer)
        buffer[:] = b"later"  # Parquet uses its buffers again
    assert digest == hashlib.sha256(b"".join(parts)).hexdigest()
    assert (tmp_path / "f").read_bytes() == b"".join(parts) + b"first"
