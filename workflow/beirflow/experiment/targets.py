"""The probable meaning of a target that no rule makes."""

from collections.abc import Collection, Mapping
from pathlib import PurePath

from beirflow.catalogue.schema import nearest
from beirflow.experiment.experiment import Experiment
from beirflow.files import layout
from beirflow.files.layout import Pattern

PATTERNS = tuple(pattern for pattern in vars(layout).values() if isinstance(pattern, Pattern))


def meant(target: str, results: str, experiment: Experiment, rules: Collection[str]) -> str:
    """Return ``; did you mean 'x'?`` with the nearest target to one that no rule makes; empty if nothing is near."""
    folder = f"{PurePath(results)}/"
    if not target.startswith(folder):
        fixed = [pattern.below(str(PurePath(results))) for pattern in PATTERNS if "{" not in pattern]
        return nearest(target, [*fixed, *rules])
    path = target.removeprefix(folder)
    known = _known(experiment)
    found = {f"{folder}{near}" for pattern in PATTERNS if (near := _near(path, pattern, known)) and near != path}
    fixed = [f"{folder}{pattern}" for pattern in PATTERNS if "{" not in pattern]
    has_form = any(pattern.names_in(path) is not None for pattern in PATTERNS)
    return nearest(target, found if has_form else fixed)


def _known(experiment: Experiment) -> dict[str, list[str]]:
    """Return the possible values of each name in a pattern."""
    return {
        "system": list(experiment.systems),
        "dataset": [*experiment.datasets, *experiment.rows_of_forums],
        "row": list(experiment.rows_of_forums),
        "archive": list(experiment.catalogue.datasets),
        "analyzer": sorted(experiment.expansions.indexes),
    }


def _near(path: str, pattern: Pattern, known: Mapping[str, list[str]]) -> str:
    """Return a path of a pattern with the nearest known names; empty if the path is of no such form."""
    names = pattern.names_in(path)
    if names is None:
        return ""
    for key, value in names.items():
        if key in known and value not in known[key]:
            near = nearest(value, known[key])
            if not near:
                return ""
            names[key] = near.split("'")[1]
    return pattern(**names)
