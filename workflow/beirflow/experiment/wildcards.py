"""Regular expressions for the wildcards of the rules."""

import re
from collections.abc import Iterable


def one_of(names: Iterable[str]) -> str:
    """Return a short regular expression that matches these names and no others; ``(?!)``, which matches nothing, for none.

    An empty expression would allow every name. Names share their beginnings and endings: Snakemake writes the expression into
    every path of every rule and reads it for every file of the plan, where a list of a thousand names costs seconds.
    """
    return _of_tails(frozenset(names)) if (names := [*names]) else "(?!)"


def _of_tails(tails: frozenset[str]) -> str:
    by_first: dict[str, set[str]] = {}
    for tail in sorted(tails - {""}):
        by_first.setdefault(tail[0], set()).add(tail[1:])
    firsts: dict[str, list[str]] = {}
    for first, rest in by_first.items():
        firsts.setdefault(_of_tails(frozenset(rest)), []).append(re.escape(first))
    ways = [(each[0] if len(each) == 1 else f"[{''.join(each)}]") + rest for rest, each in firsts.items()]
    if not ways:
        return ""
    whole = ways[0] if len(ways) == 1 and "" not in tails else f"(?:{'|'.join(ways)})"
    return f"{whole}?" if "" in tails else whole
