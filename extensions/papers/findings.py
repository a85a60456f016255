"""Findings of papers that are comparisons of two systems: a grammar of two sentences, and the verdict on scores.

A verdict over fewer datasets than the sentence is about is given only if the missing ones cannot change it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

FORMS = ("'a above b on at least n of m'", "'mean a − mean b between x and y'")
"""The sentences, for messages; a and b are systems of the file."""

ABOVE = re.compile(r"(?P<first>.+) above (?P<second>.+) on at least (?P<least>\d{1,4}) of (?P<of>\d{1,4})")
BETWEEN = re.compile(r"mean (?P<first>.+) [−-] mean (?P<second>.+) between (?P<least>-?\d+(\.\d+)?) and (?P<most>-?\d+(\.\d+)?)")

Scores = Mapping[tuple[str, str], float]  # by system and dataset


@dataclass(frozen=True)
class Comparison:
    """A comparison of two systems."""

    first: str
    second: str
    least: float  # datasets on which the first is above the second, or difference of the means
    most: float | None = None  # of such a difference; None for a count of datasets
    of: int = 0  # datasets that a count is of

    def judge(self, scores: Scores, datasets: Sequence[str]) -> tuple[str, str]:
        """Return the verdict over some datasets, as far as they have scores, and what was found."""
        names = [name for name in datasets if {(self.first, name), (self.second, name)} <= scores.keys()]
        if not names:
            return UNDECIDED, f"no dataset has scores of {self.first} and {self.second}"
        pairs = [(scores[self.first, name], scores[self.second, name]) for name in names]
        if self.most is None:
            above, missing = sum(one > other for one, other in pairs), max(0, self.of - len(names))
            holds = above >= self.least
            decided = holds or above + missing < self.least
            found = f"{self.first} above {self.second} on {above} of {len(names)}"
        else:
            difference = sum(one - other for one, other in pairs) / len(names)
            holds, decided = self.least <= difference <= self.most, len(names) == len(datasets)
            found = f"mean {self.first} − mean {self.second} is {difference:+.4f} over {len(names)}"
        return (HOLDS if holds else FAILS) if decided else UNDECIDED, found


def parse(sentence: str) -> Comparison | None:
    """Return the comparison that a sentence states; None for anything else, and for a count above all."""
    if match := ABOVE.fullmatch(sentence):
        count, of = int(match["least"]), int(match["of"])
        return Comparison(match["first"], match["second"], count, of=of) if 0 < count <= of else None
    if match := BETWEEN.fullmatch(sentence):
        least, most = (float(match[key]) for key in ("least", "most"))
        return Comparison(match["first"], match["second"], least, most) if least <= most else None
    return None


def judge(sentences: Sequence[str], scores: Scores, datasets: Sequence[str]) -> tuple[str, str]:
    """Return the verdict on comparisons that must all hold, and what was found."""
    judged = [each.judge(scores, datasets) for each in map(parse, sentences) if each]
    verdicts = [verdict for verdict, _ in judged]
    verdict = next((each for each in (FAILS, UNDECIDED) if each in verdicts), HOLDS)
    return verdict, "; ".join(found for _, found in judged)
