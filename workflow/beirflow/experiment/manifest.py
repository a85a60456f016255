"""The manifest: the root from which digests lead to every file that a result depends on.

``manifest.json`` names ``summary.csv`` and every JSON of metrics by digest; these name runs, judgements and corpora; runs name
vectors and models. It also says what no other file does: the configuration, the commit of the code, and the environment.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from beirflow.experiment.experiment import Experiment
from beirflow.files.digests import file_digest
from beirflow.files.records import write_json
from beirflow.jobs.provenance import code_state, environment

NAME = "manifest.json"

NO_INFLUENCE = ("audit_sample", "compare_with")
"""Keys of the configuration that are about looking at results."""

PASSWORD = re.compile(r"(?<=//)[^/@]*@")


def write_manifest(
    *, means_paths: Sequence[str], summary_path: str, published_path: str, experiment: Experiment, code: str, manifest_path: str
) -> None:
    """Write the root of all digests.

    Args:
        means_paths: The ``metrics`` JSON of every configured system on every configured dataset, in the order of the summary.
        summary_path: ``summary.csv``.
        published_path: ``published.yaml``, which the summary was made with.
        experiment: The configuration and what it means.
        code: Digest of the code that runs.
        manifest_path: JSON to write, in the folder of all results.
    """
    folder = Path(manifest_path).parent
    content = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "configuration": _shown(experiment.config),
        "systems": {name: asdict(experiment.systems[name]) for name in experiment.chosen_systems},
        "datasets": {
            row: [asdict(experiment.datasets[name]) | {"files": dict(experiment.datasets[name].files)} for name in names]
            for row, names in experiment.chosen_rows.items()
        },
        "repository": code_state(),
        "environment": environment(),
        "code": code,
        "from_sha256": {
            "summary.csv": file_digest(summary_path),
            "published.yaml": file_digest(published_path),
            "metrics": {Path(path).relative_to(folder).as_posix(): file_digest(path) for path in means_paths},
        },
    }
    write_json(manifest_path, content)


def _shown(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without what says nothing about a result, and without passwords in addresses."""
    shown = {key: value for key, value in config.items() if key not in NO_INFLUENCE}
    return shown | {"mirrors": [PASSWORD.sub("", url) for url in config["mirrors"]]}
