"""Files are whole or absent, whatever interrupts their writing."""

import hashlib
import os
import signal
import subprocess
import sys
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


def fail_while_writing(path: Path, error: type[BaseException], written: bool) -> None:
    with atomic_path(path) as partial:
        if written:
            partial.write_text("half of the ne")
        raise error


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


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("written", [True, False])
def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException], written: bool) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(error):
        fail_while_writing(path, error, written)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_a_block_that_writes_nothing_is_an_error_and_no_empty_file_and_leaves_other_names_alone(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a.b.txt") as other:
        other.write_text("other")
        with atomic_path(tmp_path / "a.txt") as partial:
            partial.write_text("mine")
        assert other.exists(), "whose name begins alike"
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "out.txt"):
        pass
    assert names(tmp_path) == []


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


def test_a_digest_is_that_of_the_contents(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_digest(tmp_path / "abc", "md5") == "900150983cd24fb0d6963f7d28e17f72"


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_in_the_background_is_an_error_at_the_end_at_the_latest() -> None:
    def fill() -> None:
        with DigestingWriter(Path("/dev/full")) as stream:
            stream.write(bytes(10**7))
            stream.digest()

    with pytest.raises(OSError, match="No space left"):
        fill()
