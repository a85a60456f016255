"""The end of an experiment: the summary, and the manifest, which is its record."""

from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.evaluation.manifest import write_manifest
from beirflow.evaluation.summary import TrainedOn, summarize
from beirflow.files.records import Job


def conclude(
    *,
    means_paths: Sequence[str],
    summary_path: str,
    published_path: str,
    configured: Mapping[str, Any],
    main_measure: str,
    trained_on: TrainedOn,
    manifest_path: str,
    job: Job,
) -> str:
    """Write the summary and the manifest; return the summary as a table for the terminal."""
    table = summarize(means_paths=means_paths, summary_path=summary_path, main_measure=main_measure, trained_on=trained_on)
    write_manifest(
        means_paths=means_paths,
        summary_path=summary_path,
        published_path=published_path,
        configured=configured,
        manifest_path=manifest_path,
        job=job,
    )
    return f"\n{table}\n\nThe same in full precision: {summary_path}\n"
