"""Files for reading, made from the results: no result depends on them, and a record says what they were."""

from collections.abc import Sequence
from pathlib import Path

from beirflow.files.digests import file_digest
from beirflow.files.records import write_json

NAME = "report.json"

FILES = (
    *(NAME, "report.html", "scores.parquet", "significance.csv", "cost.csv"),
    *("audit.json", "audit.html", "comparison.json", "comparison.html", "ro-crate-metadata.json"),
)
FOLDERS = ("code/", "figures/", "inspection/")


def is_view(path: str) -> bool:
    """Whether a path, relative to the results, is that of a file for reading."""
    return path in FILES or path.startswith(FOLDERS)


def record_views(*, view_paths: Sequence[str], manifest_path: str, code: str, record_path: str) -> None:
    """Write down what the files for reading are, and which results they were made from.

    Args:
        view_paths: The files, below the folder of the record.
        manifest_path: ``manifest.json`` of the results.
        code: Digest of the code that runs.
        record_path: JSON to write.
    """
    folder = Path(record_path).parent
    digests = {Path(path).relative_to(folder).as_posix(): file_digest(path) for path in view_paths}
    write_json(record_path, {"code": code, "sha256": digests, "from_sha256": {"manifest.json": file_digest(manifest_path)}})
