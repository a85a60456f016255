"""A disk that fails while a result is written, as network disks and quotas do at any call: the message names the file."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.disks import disk_problem
from beirflow.core.records import write_json
from beirflow.core.writing import DigestingWriter, atomic_path
from beirflow.families.postings.columns import ColumnWriter

SHIM = Path(__file__).parents[1] / "failing_disk.c"
CALLS = {"write": errno.EIO, "fsync": errno.EDQUOT, "close": errno.EDQUOT}
MOST_USES = 12


def write_record(path: Path) -> None:
    write_json(path, {"a": "x" * 5_000})


def write_vectors(path: Path) -> None:
    with atomic_path(path) as partial, DigestingWriter(partial) as writer:
        np.save(writer, np.zeros((1_000, 10), np.float32))  # type: ignore[call-overload]
        writer.digest()


def write_parquet(path: Path) -> None:
    with atomic_path(path) as partial:
        pq.write_table(pa.table({"a": range(10_000)}), partial)


def write_parquet_in_parts(path: Path) -> None:
    table = pa.table({"a": range(10_000)})
    with atomic_path(path) as partial, pq.ParquetWriter(partial, table.schema) as writer:
        writer.write_table(table)


def write_columns(path: Path) -> None:
    with atomic_path(path) as partial, partial.open("wb") as sink, ColumnWriter(sink, {"format": "x"}) as writer:
        writer.write({"a": np.arange(10_000)})


def write_folder(path: Path) -> None:
    with atomic_path(path) as folder:
        folder.mkdir()
        (folder / "content").write_bytes(b"x" * 10_000)


WRITERS: list[Callable[[Path], None]] = [
    write_record,
    write_vectors,
    write_parquet,
    write_parquet_in_parts,
    write_columns,
    write_folder,
]


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """Let every use of every call fail for every kind of file, in a process that has the failing disk loaded."""
    rows = []
    for write in WRITERS:
        for call, number in CALLS.items():
            for use in range(1, MOST_USES):
                path = folder / f"{write.__name__}-{call}-{use}" / "result"
                path.parent.mkdir()
                os.environ |= {"FAIL_CALL": call, "FAIL_AT": str(use), "FAIL_ERRNO": str(number), "FAIL_BELOW": str(path.parent)}
                message: str | None = ""
                try:
                    write(path)
                except OSError as error:
                    message = disk_problem(error) or f"no words: {error!r}"
                except Exception as error:
                    message = f"no words: {error!r}"
                os.environ["FAIL_CALL"] = ""
                rows.append({"path": str(path), "message": message, "left": sorted(each.name for each in path.parent.iterdir())})
                if not message:
                    break
    return rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The outcomes."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler or sys.platform != "linux":
        pytest.skip("no C compiler, or no Linux")
    folder = tmp_path_factory.mktemp("disk")
    library = folder / "failing_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True)
    (folder / "files").mkdir()
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, __file__, str(folder / "files")]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout))


def test_every_message_names_the_file(rows: list[dict[str, Any]]) -> None:
    failed = [row for row in rows if row["message"]]
    assert len(failed) >= 3 * len(WRITERS)
    assert [row for row in failed if not row["message"].startswith(row["path"])] == []


def test_nothing_partial_is_left(rows: list[dict[str, Any]]) -> None:
    assert {name for row in rows for name in row["left"]} == {"result"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(outcomes(Path(sys.argv[1]))))
