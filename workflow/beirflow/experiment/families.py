"""Every family that there is, by name."""

from beirflow.dense.family import FAMILY as DENSE
from beirflow.runs.family import Family

FAMILIES: dict[str, Family] = {family.name: family for family in (DENSE,)}

DEFAULT = DENSE.name
"""The family of a system that names none."""
