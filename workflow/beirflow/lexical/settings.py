"""The settings of a lexical system."""

from collections.abc import Sequence
from dataclasses import dataclass

from beirflow.runs.ranking import Ties

ANALYZER = "lucene-english"
"""The only analyzer; another one, or a change of the terms, needs another name."""


@dataclass(frozen=True)
class LexicalSettings:
    """The settings that determine the scores of BM25. The schema checks what they may be.

    Attributes:
        name: Name of the system.
        k1: How late the weight of a repeated term saturates; 0 makes the number of repetitions irrelevant.
        b: How much long documents are held back, from 0, not at all, to 1.
        fields: ``("contents",)``, title and text as one field; or ``title``, ``text`` or both, each with statistics of its own,
            and their scores added.
        analyzer: What turns texts into terms.
        ties: How documents with the same score are ordered by their ids; Lucene's ascend.
    """

    name: str
    k1: float = 0.9
    b: float = 0.4
    fields: Sequence[str] = ("contents",)
    analyzer: str = ANALYZER
    ties: Ties = "ascending"
