"""The means over datasets that tables have, named by their members."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

AVERAGES = (
    ("BEIR", ()),
    ("BEIR without msmarco", ("msmarco",)),
    ("BEIR without msmarco and cqadupstack", ("msmarco", "cqadupstack")),
)
"""The three averages of the literature, by what they leave out."""

ZERO_SHOT = "zero-shot mean of"


def averages(
    official: Sequence[str],
    present: Sequence[str],
    seen: Collection[str] = (),
    collections: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, list[str]]:
    """Name the means over datasets.

    Args:
        official: The public datasets of BEIR.
        present: The evaluated datasets.
        seen: Those that a compared system was trained on. If there are any, a mean over the others follows.
        collections: Other datasets that belong together, by the name of what they are.

    Returns:
        The datasets of every mean, by its label; none for a single dataset.
    """
    groups: dict[str, list[str]] = {}
    for label, excluded in AVERAGES:
        members = [name for name in official if name not in excluded]
        if set(members) <= set(present):
            groups[f"mean of {len(members)} ({label})"] = members
    for label, together in collections.items():
        if len(together) > 1 and set(together) <= set(present):
            groups[f"mean of {len(together)} ({label})"] = list(together)
    if len(present) > 1 and set(present) not in map(set, groups.values()):
        groups[f"mean of {len(present)} ({', '.join(present)})"] = list(present)
    unseen = [name for name in present if name not in seen]
    if 1 < len(unseen) < len(present):
        groups[f"{ZERO_SHOT} {len(unseen)} ({', '.join(unseen)})"] = unseen
    return groups
