"""All families, by name."""

from collections.abc import Mapping
from typing import Any

from beirflow.dense.family import FAMILY as DENSE
from beirflow.fusion.family import FAMILY as FUSION
from beirflow.imported.family import FAMILY as IMPORTED
from beirflow.late.family import FAMILY as LATE
from beirflow.lexical.family import FAMILY as LEXICAL
from beirflow.rerank.family import FAMILY as RERANK
from beirflow.runs.family import Family
from beirflow.sparse.family import FAMILY as SPARSE

FAMILIES: dict[str, Family] = {family.name: family for family in (DENSE, LEXICAL, SPARSE, LATE, FUSION, RERANK, IMPORTED)}

DEFAULT = DENSE.name
"""The family of a system that names a model and no family."""


def family_of(entry: Mapping[str, Any]) -> Family:
    """The family of a system.

    Args:
        entry: Its entry in the catalogue or in the configuration.

    Returns:
        The family that it names; else ``run`` where it names a run, and dense where it names a model.
    """
    return FAMILIES[entry.get("family", IMPORTED.name if "run" in entry else DEFAULT)]
