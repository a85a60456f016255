"""All families, by name."""

from collections.abc import Mapping
from typing import Any

from beirflow.core.extensions import extensions
from beirflow.families.approximate.family import FAMILY as APPROXIMATE
from beirflow.families.dense.family import FAMILY as DENSE
from beirflow.families.family import Family
from beirflow.families.fusion.family import FAMILY as FUSION
from beirflow.families.imported.family import FAMILY as IMPORTED
from beirflow.families.late_interaction.family import FAMILY as LATE
from beirflow.families.lexical import FAMILY as LEXICAL
from beirflow.families.rerank.family import FAMILY as RERANK
from beirflow.families.sparse.family import FAMILY as SPARSE

ADDED = [extension.family() for extension in extensions() if extension.family]  # by extensions

FAMILIES: dict[str, Family] = {
    family.name: family for family in (DENSE, LEXICAL, SPARSE, LATE, FUSION, RERANK, IMPORTED, APPROXIMATE, *ADDED)
}

DEFAULT = DENSE.name  # the family of a system that names a model and no family

IMPLIED = {family.implied_by: family.name for family in FAMILIES.values() if family.implied_by}


def family_of(entry: Mapping[str, Any]) -> Family:
    """Return the family that an entry of a system names; else the one that a setting implies, and dense if it names a model."""
    implied = next((family for key, family in IMPLIED.items() if key in entry), DEFAULT)
    return FAMILIES[entry.get("family", implied)]
