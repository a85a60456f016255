"""The table of a run with nothing to do."""

from collections.abc import Collection
from pathlib import Path


def table_again(summary: Path, targets: Collection[str]) -> str:
    """Return the summary once more, for the terminal; empty if it was not a target, or is not there or no table."""
    wanted = any(target == "summary" or Path(target).name == summary.name for target in targets)
    if not (wanted and summary.is_file()):
        return ""
    # Here, since it takes longer than planning a run, which rarely needs it.
    import pandas as pd

    from beirflow.evaluation.summary import for_terminal

    try:
        table = for_terminal(pd.read_csv(summary))
    except (ValueError, KeyError):
        return ""
    return f"\n\n{table}\n\nThe same in full precision: {summary}"
