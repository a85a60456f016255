"""Evaluate retrieval systems on BEIR and on your own data: exactly, resumably, and so that every number can be checked.

Three functions for notebooks and scripts, with the ranking rule and the measures of the workflow:

- :func:`evaluate`: compute NDCG, Recall, MRR and other measures of a run, given relevance judgements (qrels)
- :func:`search`: retrieve the exact top k of a corpus with an encoder
- :class:`Results`: read a folder of results as data frames: scores, means, significance, hits

Example:
    >>> import beirflow
    >>> run = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d3": 0.7}}
    >>> qrels = {"q1": {"d2": 1}, "q2": {"d3": 1}}
    >>> beirflow.evaluate(run, qrels, ["MRR@10", "P@1"]).mean.to_dict()
    {'MRR@10': 0.75, 'P@1': 0.5}

    >>> from sentence_transformers import SentenceTransformer                   # doctest: +SKIP
    >>> run = beirflow.search(SentenceTransformer("my-model"), corpus, queries, k=100)    # doctest: +SKIP
    >>> beirflow.Results("results").means["NDCG@10"]                            # doctest: +SKIP

Runs and qrels are mappings, data frames or files. Errors are :class:`BeirflowError`; the message says what
was found, what was expected, and what to do. The command ``beirflow`` runs the whole workflow; ``SNAKEFILE`` is its Snakefile,
for ``snakemake --snakefile`` and for modules of other workflows. ``docs/library.md`` has more examples.
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

# An unpacked source archive has no links here: their targets are next to the folder ``src``.
_HERE, _AROUND = Path(__file__).parent, Path(__file__).parents[2]
if not (_HERE / "workflow").is_dir() and (_AROUND / "workflow").is_dir():
    __path__.append(str(_AROUND))  # where beirflow.extensions is
    _HERE = _AROUND

WORKFLOW = (_HERE / "workflow").resolve()
"""The folder of the workflow: rules, catalogue, schema, templates, profiles. ``config/`` and ``envs/`` are next to it."""

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
