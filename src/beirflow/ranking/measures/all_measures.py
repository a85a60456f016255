"""All measures: tables, lists, exports and the checks of the configuration get names and functions here.

To know the names does not import pytrec_eval.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from beirflow.ranking.measures.registry import REGISTERED, Measure

FIRST = f"{__package__}.trec_eval"  # module of the first measures of tables

for _module in iter_modules([str(Path(__file__).parent)]):
    import_module(f"{__package__}.{_module.name}")


def _place(measure: Measure) -> tuple[bool, bool, str]:
    module = measure.compute.__module__
    return measure.needs is not None, module != FIRST, module


MEASURES: Mapping[str, Measure] = {each.name: each for each in sorted(REGISTERED.values(), key=_place)}
"""Measures by name in the order of tables: those of trec_eval first, those of few judgements last, else by file and line."""
