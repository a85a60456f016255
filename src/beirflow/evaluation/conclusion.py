"""The end of an experiment: the summary, and the manifest, the root of the digests of every file that a result depends on.

``manifest.json`` is the record of ``summary.csv``, made from every record of metrics; these name runs, judgements and corpora;
runs name what their family stored, and so on down to the models. It also says what no other file does: the configuration, the
commit of the code, and the environment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, write_record
from beirflow.evaluation.summary import TrainedOn, kept_self_matches, summarize
from beirflow.evaluation.terminal import for_terminal
from beirflow.ranking.run_settings import ConfiguredRun, check_run_settings
from beirflow.run.provenance import code_state, environment, run_of_this_job


@dataclass(frozen=True)
class Configured:
    """The experiment as it is configured."""

    experiment: Mapping[str, Any]  # ``Experiment.configured``, for the manifest
    runs: Sequence[ConfiguredRun]
    options: str  # of a command with the same configuration


def conclude(
    *,
    means_paths: Sequence[str],
    summary_path: str,
    published_path: str,
    configured: Configured,
    main_measure: str,
    trained_on: TrainedOn,
    manifest_path: str,
    job: Job,
) -> str:
    """Write the summary and the manifest; return the summary as a table for the terminal.

    Raises DataError if a run was made with other settings than the configured ones.
    """
    check_run_settings(configured.runs, job.results, configured.options)
    table = summarize(
        means_paths=means_paths,
        summary_path=summary_path,
        main_measure=main_measure,
        trained_on=trained_on,
        kept=kept_self_matches(configured.experiment["datasets"]),
    )
    write_record(
        manifest_path,
        job,
        inputs={path: file_digest(path) for path in means_paths},
        outputs={summary_path: file_digest(summary_path)},
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        **configured.experiment,
        published_sha256=file_digest(published_path),
        repository=code_state(),
        environment=environment(),
        made_by=run_of_this_job(),
    )
    return f"\n{for_terminal(table)}\n\nThe same in full precision: {summary_path}\n"
