"""Files for reading: no result depends on them, and a record lists their digests."""

from collections.abc import Sequence
from typing import Any

from beirflow.files.digests import file_digest
from beirflow.files.records import Job, write_record


def record_files_for_reading(*, paths: Sequence[str], manifest_path: str, record_path: str, job: Job, **facts: Any) -> None:
    """Record the files for reading, the manifest of the results that they were made from, and further facts."""
    outputs = {path: file_digest(path) for path in paths}
    write_record(record_path, job, inputs={manifest_path: file_digest(manifest_path)}, outputs=outputs, **facts)
