"""Findings of papers that are comparisons: a grammar of two sentences, and the verdict on scores.

A verdict over fewer datasets than the sentence is about is given only if the missing ones cannot change it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from beirflow.evaluation.paired_tests import confidence_interval

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

FORMS = ("'a above b on at least n of m'", "'mean a − mean b between x and y'")
"""The sentences, for messages; a and b are systems of the file, in the first also numbers, or ``20 times b``."""

ABOVE = re.compile(r"(?P<first>.+) above (?P<second>.+) on at least (?P<least>\d{1,4}) of (?P<of>\d{1,4})")
BETWEEN = re.compile(r"mean (?P<first>.+) [−-] mean (?P<second>.+) between (?P<least>-?\d+(\.\d+)?) and (?P<most>-?\d+(\.\d+)?)")
NUMBER = re.compile(r"(?P<factor>\d+(\.\d+)?)( times (?P<name>.+))?")

COLUMNS = ("number", "says", "place", "compare", "measure", "printed", "found_printed", "here", "found_here")
"""Columns of ``findings.csv``."""

Scores = Mapping[tuple[str, str], float]  # by system and dataset


@dataclass(frozen=True)
class Comparison:
    """A comparison of two systems, or of one and a number."""

    first: str
    second: str
    least: float  # datasets on which the first is above the second, or difference of the means
    most: float | None = None  # of such a difference; None for a count of datasets
    of: int = 0  # datasets that a count is of

    @property
    def systems(self) -> list[str]:
        """Return the systems that it names."""
        return [name for _, name in map(_term, (self.first, self.second)) if name]

    def judge(self, scores: Scores, datasets: Sequence[str]) -> tuple[str, list[str]]:
        """Return the verdict over some datasets, as far as they have scores, and what was found."""
        names = [name for name in datasets if {(system, name) for system in self.systems} <= scores.keys()]
        if not names:
            return UNDECIDED, [f"no dataset has scores of {' and '.join(self.systems)}"]
        differences = np.array([_value(self.first, scores, name) - _value(self.second, scores, name) for name in names])
        if self.most is None:
            above, missing = int((differences > 0).sum()), max(0, self.of - len(names))
            holds = above >= self.least
            decided = holds or above + missing < self.least
            found = [f"{self.first} above {self.second} on {above} of {len(names)}"]
            if len(names) == 1:
                values = {system: scores[system, names[0]] for system in self.systems}
                found = [f"{system} {value:{',.0f' if value >= 1000 else '.4g'}}" for system, value in values.items()]
        else:
            difference, bounds = differences.mean(), confidence_interval([differences])
            holds, decided = self.least <= difference <= self.most, len(names) == len(datasets)
            interval = f" (95 % interval {bounds[0]:+.4f} to {bounds[1]:+.4f})" if bounds[0] == bounds[0] else ""
            found = [f"mean {self.first} − mean {self.second} is {difference:+.4f} over {len(names)}{interval}"]
        return (HOLDS if holds else FAILS) if decided else UNDECIDED, found


def _term(text: str) -> tuple[float, str]:
    """Split a term into its factor and its system, which is empty for a number alone."""
    match = NUMBER.fullmatch(text)
    return (float(match["factor"]), match["name"] or "") if match else (1.0, text)


def _value(text: str, scores: Scores, dataset: str) -> float:
    factor, system = _term(text)
    return factor * (scores[system, dataset] if system else 1)


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
    verdict = next((each for each in (FAILS, UNDECIDED) if each in {verdict for verdict, _ in judged}), HOLDS)
    return verdict, "; ".join(dict.fromkeys(each for _, found in judged for each in found))


def judge_all(
    findings: Iterable[Mapping[str, Any]], scores: Mapping[str, Mapping[str, Scores]], measure: str, datasets: Sequence[str]
) -> list[dict[str, str]]:
    """Return the rows of ``findings.csv`` from the scores ``printed`` and ``here``, each by measure.

    ``measure`` and ``datasets`` are those of findings that name none.
    """
    rows = []
    for finding in findings:
        sentences, of = as_list(finding["compare"]), finding.get("measure") or measure
        row = {key: finding.get(key, "") for key in COLUMNS[:3]} | {"compare": "; ".join(sentences), "measure": of}
        for kind, by_measure in scores.items():
            row[kind], row[f"found_{kind}"] = judge(sentences, by_measure.get(of, {}), finding.get("datasets") or datasets)
        rows.append(row)
    return rows


def as_list(value: str | Sequence[str]) -> Sequence[str]:
    """Return a single text as a list."""
    return [value] if isinstance(value, str) else value
