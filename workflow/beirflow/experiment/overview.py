"""The targets that can be asked for, with what this configuration would run."""

from collections.abc import Sequence
from pathlib import Path

from beirflow.experiment.experiment import Experiment
from beirflow.files.layout import PAPER, REPORT, SUMMARY, TREC_RUN

SHOWN = 5
"""Names of systems or datasets in the text."""


def overview(*, experiment: Experiment, results: Path, configured: str = "") -> str:
    """Return the targets with their results, for the terminal; ``configured`` is how the command line named the configuration."""
    systems, rows = list(experiment.chosen_systems), list(experiment.chosen_rows)
    run = TREC_RUN(system=systems[0], dataset=experiment.rows[rows[0]][0].name)
    targets = {
        "estimate": "time, downloads and disk space, before anything runs",
        "summary": f"every system on every dataset: {results / SUMMARY}",
        "report": f"tables, figures, significance: {results / REPORT}",
        "paper": f"the BEIR paper's tables: {results / PAPER}",
        str(results / run): "any other file of docs/targets.md",
        "audit": "checks of finished results; also compare, gate",
    }
    width = max(map(len, targets))
    return "\n".join(
        [
            f"This configuration has {_named(systems, 'system')} and {_named(rows, 'dataset')}. Name a target, as in",
            f"  snakemake --cores all{configured} -- summary",
            *(f"  {target:{width}}  {made}" for target, made in targets.items()),
            "Choose others with --config systems=bm25 datasets=scifact, or in a file: --configfile my.yaml",
        ]
    )


def _named(names: Sequence[str], kind: str) -> str:
    more = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    return f"{len(names)} {kind}{'s' * (len(names) != 1)} ({', '.join(names[:SHOWN])}{more})"
