"""beirflow: exact, resumable, checkable evaluation of retrieval systems on BEIR.

As a library, for notebooks and scripts:

- :func:`evaluate`: evaluate a run by judgements, both as mappings, frames or files;
- :func:`search`: search a corpus exactly with an encoder, for a run;
- :class:`Results`: read a folder of results as frames: scores, means, significance, hits.

They raise :class:`BeirflowError`, whose message says what was found, what was expected, and what to do. ``docs/library.md`` has
examples; the workflow itself starts with the command ``beirflow`` or with ``snakemake``.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beirflow.core.errors import BeirflowError
    from beirflow.evaluation.outside_runs import Evaluation, evaluate
    from beirflow.families.dense.in_memory import search
    from beirflow.report.results import Results

__all__ = ["SNAKEFILE", "WORKFLOW", "BeirflowError", "Evaluation", "Results", "evaluate", "search"]

__version__ = "0.1.0"

# An unpacked source archive has no links here: what they lead to is beside the folder ``src``.
_HERE, _AROUND = Path(__file__).parent, Path(__file__).parents[2]
if not (_HERE / "workflow").is_dir() and (_AROUND / "workflow").is_dir():
    __path__.append(str(_AROUND))  # where beirflow.extensions is
    _HERE = _AROUND

WORKFLOW = (_HERE / "workflow").resolve()
"""The folder of the workflow: rules, catalogue, schema, templates, profiles. ``config/`` and ``envs/`` lie beside it."""

EXTENSIONS = _HERE / "extensions"
"""The folder of the extensions that come with the package; others are installed."""

SNAKEFILE = WORKFLOW / "Snakefile"
"""The Snakefile of the workflow, for ``--snakefile`` and for modules of other workflows."""

_LAZY = {
    "BeirflowError": "core.errors",
    "Evaluation": "evaluation.outside_runs",
    "Results": "report.results",
    "evaluate": "evaluation.outside_runs",
    "search": "families.dense.in_memory",
}
"""Modules of the library, imported when a name is used: ``import beirflow`` alone takes no pandas and no torch."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
