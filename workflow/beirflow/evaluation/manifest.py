"""The manifest: the root of the digests of every file that a result depends on.

``manifest.json`` is the record of ``summary.csv``, made from every record of metrics; these name runs, judgements and corpora;
runs name what their family stored, and so on down to the models. It also says what no other file does: the configuration, the
commit of the code, and the environment.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from beirflow.files.digests import file_digest
from beirflow.files.records import Job, write_record
from beirflow.jobs.provenance import code_state, environment, run_of_this_job

NO_INFLUENCE = (
    *("audit_sample", "compare_with", "manifest_sha256", "manifest_signature", "allowed_signers"),
    *(
        "figure_width",
        "figure_font",
        "gate",
        "pool_depth",
        "judge",
        "fact",
        "of",
        "folders",
        "references",
        "prices",
        "choice",
        "results",
    ),
)
"""Keys of the configuration that are about looking at results."""

TUNED_ON = "tuned_on"
"""Key of the datasets that are not evaluated, but on which systems are tuned, in the form of ``datasets``."""


def write_manifest(
    *,
    means_paths: Sequence[str],
    summary_path: str,
    published_path: str,
    configured: Mapping[str, Any],
    manifest_path: str,
    job: Job,
) -> None:
    """Write the root of all digests; ``configured`` is what ``Experiment.configured`` states."""
    write_record(
        manifest_path,
        job,
        inputs={path: file_digest(path) for path in means_paths},
        outputs={summary_path: file_digest(summary_path)},
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        **configured,
        published_sha256=file_digest(published_path),
        repository=code_state(),
        environment=environment(),
        made_by=run_of_this_job(),
    )
