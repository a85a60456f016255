"""Expansions that models make: queries that a T5 writes for documents (docT5query), and words that a BERT weighs (DeepCT)."""

from pathlib import Path

from beirflow.core.extensions import Extension, Maker
from beirflow.extensions.expansions.layout import EXPANSION_LOG

_PROBLEM = "beirflow.extensions.expansions.models:model_problem"

EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=(EXPANSION_LOG,),
    makers={
        "queries": Maker("write_queries", _PROBLEM),
        "weights": Maker("weigh_words", _PROBLEM),
    },
)
