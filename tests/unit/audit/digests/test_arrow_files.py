"""What a file of Arrow's IPC would unpack to is known before it is unpacked, whoever made it."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from beirflow.audit.digests.arrow_files import check_arrow
from beirflow.audit.digests.checks import RecordError
from beirflow.postings.columns import ColumnWriter


def written(path: Path, *batches: np.ndarray, compression: str | None = "zstd") -> Path:
    with path.open("wb") as sink, ColumnWriter(sink, {"what": b"a test"}, compression) as writer:
        for batch in batches:
            writer.write({"numbers": batch, "others": batch[:3]})
    return path


@pytest.mark.parametrize("compression", ["zstd", None])
def test_files_that_hold_what_they_promise_pass(tmp_path: Path, compression: str | None) -> None:
    rng = np.random.default_rng(1)
    check_arrow(written(tmp_path / "a", rng.random(9000), rng.random(1), rng.random(0), compression=compression), "a")


def test_few_bytes_that_unpack_to_many_are_refused_in_whichever_batch(tmp_path: Path) -> None:
    zeros = np.zeros(1 << 27, np.uint8)
    for batches in ([zeros], [zeros[:9], zeros]):
        with pytest.raises(RecordError, match=r"bytes that would unpack to 134,217,\d+ bytes"):
            check_arrow(written(tmp_path / "bomb", *batches), "bomb")


def test_whatever_is_changed_is_refused_or_harmless(tmp_path: Path) -> None:
    content, drawn = written(tmp_path / "a", np.arange(50)).read_bytes(), random.Random(2)
    for number in range(300):
        changed = bytearray(content)
        for _ in range(3):
            changed[drawn.randrange(len(changed) // 2 if number % 2 else 0, len(changed))] = drawn.randrange(256)
        (tmp_path / "b").write_bytes(changed[: drawn.randrange(len(changed))] if number % 7 == 0 else changed)
        with suppress(RecordError):
            check_arrow(tmp_path / "b", "b")
