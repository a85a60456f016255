"""Every family that there is, by name."""

from beirflow.dense.family import FAMILY as DENSE
from beirflow.lexical.family import FAMILY as LEXICAL
from beirflow.runs.family import Family
from beirflow.sparse.family import FAMILY as SPARSE

FAMILIES: dict[str, Family] = {family.name: family for family in (DENSE, LEXICAL, SPARSE)}

DEFAULT = DENSE.name
"""The family of a system that names none."""
