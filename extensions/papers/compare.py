"""Compare printed with computed values: a verdict on each, or the reason why there is none."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from beirflow.data.catalogue.catalogue import Reference, load_catalogue
from beirflow.extensions.papers.findings import judge_all
from beirflow.extensions.papers.read import Entry, Paper, Printed
from beirflow.extensions.papers.runs import Runs

EQUAL, WITHIN, DIFFERS, BARRED, NOT_RUN = "equal", "within tolerance", "differs", "not comparable", "not run"
"""Verdicts on a value: equal in all printed digits, and so on."""

Means = Mapping[tuple[str, str], Mapping[str, Any]]  # records of metrics by system and dataset


class Cell(NamedTuple):
    """A printed value and the computed one; the fields are the columns of ``cells.csv``."""

    system: str
    dataset: str
    measure: str
    printed: float
    computed: float | None  # by the ranking rule
    by_source: float | None  # under the conventions of the source
    verdict: str
    cause: str  # of a difference, or what is needed
    configured: str  # the system here
    conventions: str
    source: str


@dataclass(frozen=True)
class Comparison:
    """A paper and results to compare it with.

    Attributes:
        paper: The paper.
        means: Records of metrics.
        settings: By configured system, its family and settings.
        runs: The runs that were evaluated.
    """

    paper: Paper
    means: Means
    settings: Mapping[str, Entry]
    runs: Runs

    def cells(self) -> list[Cell]:
        """Return every printed value with its verdict."""
        return [self._cell(each) for each in self.paper.values]

    def _cell(self, printed: Printed) -> Cell:
        paper, (system, dataset, measure, value) = self.paper, printed
        name, lack = self._stands_for(system)
        entry = {key: paper.of_system(system, key) for key in ("decimals", "conventions")}
        entry |= {"source": paper.source_name(system), "printed_as": paper.content["printed_as"]}
        reference = Reference(measure, value, entry, dataset, paper.barred(system, dataset, measure))
        means = self.means.get((name, dataset))
        ours = means["measures"].get(reference.computed) if means else None
        here = self.runs.under_conventions(reference, means) if means else None
        lack = lack or self._lacking(reference, means, here)
        verdict, cause = (NOT_RUN, lack) if lack or not means or here is None else self._verdict(system, reference, means, here)
        return Cell(*printed, ours, here, verdict, cause, name, reference.conventions, reference.source)

    def _stands_for(self, system: str) -> tuple[str, str]:
        """Return the configured system that is one of the paper, and what is wrong with it or missing."""
        paper, names = self.paper, self.paper.names(system)
        if not names:
            return "", str(paper.systems[system]["needs"])
        name = next((each for each in names if each in self.settings), "")
        if not name:
            return "", f"{names[0]} is not configured; `beirflow paper {paper.name}` configures it"
        here = self.settings[name]
        others = [
            f"{key} is {here[key]!r} here and {value!r} in the source"
            for key, value in paper.systems[system]["settings"].items()
            if key in here and here[key] != value
        ]
        return name, "; ".join(others)

    def _lacking(self, reference: Reference, means: Entry | None, here: float | None) -> str:
        """Return what a value needs that is not here; empty if nothing."""
        if not means:
            own_copy = reference.dataset in load_catalogue().own_copies
            return f"the dataset is {'not public: it needs a copy of your own' if own_copy else 'not configured'}"
        return f"{reference.computed} was not computed; add its cutoff to cutoffs" if here is None else ""

    def _verdict(self, system: str, reference: Reference, means: Mapping[str, Any], here: float) -> tuple[str, str]:
        """Return the verdict on a computed value, and the cause of a difference."""
        apart, digits = abs(here - reference.value), reference.tolerance([])
        if reason := self._otherwise(reference.dataset, means):
            return BARRED, reason
        if apart <= digits:
            return EQUAL, ""
        if apart <= reference.tolerance(means["precisions"]):
            return WITHIN, f"{apart:.5f}: the model computed in {' and '.join(means['precisions'])} on another machine"
        if reference.barred:
            return BARRED, reference.barred
        stated = self.paper.of_system(system, "tolerance")
        about = stated and (stated.get("datasets") is None or reference.dataset in stated["datasets"])
        if about and apart <= digits + stated["within"]:
            return WITHIN, f"{apart:.5f}: {stated['reason']}"
        return DIFFERS, self.runs.cause(reference, means)

    def _otherwise(self, dataset: str, means: Mapping[str, Any]) -> str:
        """Return why the results of a dataset of the catalogue are of other data; empty if they are not."""
        known = load_catalogue().known_datasets.get(dataset)
        if known and means["official_data"] is False:
            return "not evaluated on the official data"
        if known and means["split"] != known[0].split:
            return f"evaluated on the split {means['split']}, published on {known[0].split}"
        return ""

    def findings(self, cells: Iterable[Cell]) -> list[dict[str, str]]:
        """Return the verdicts on the findings, on the printed values and on computed ones; the rows of ``findings.csv``."""
        content, scores = self.paper.content, {"printed": defaultdict[str, Any](dict), "here": defaultdict[str, Any](dict)}
        for each in cells:
            scores["printed"][each.measure][each.system, each.dataset] = each.printed
            if each.verdict not in (NOT_RUN, BARRED):
                scores["here"][each.measure][each.system, each.dataset] = each.by_source
        return judge_all(content["findings"], scores, content["measures"][0], self.paper.zero_shot)


def counts_of(cells: Iterable[Cell]) -> dict[str, int]:
    """Return the number of values by verdict."""
    counts = Counter(each.verdict for each in cells)
    return {verdict: counts[verdict] for verdict in (EQUAL, WITHIN, DIFFERS, BARRED, NOT_RUN)}


def verdict_on(cells: Iterable[Cell]) -> str:
    """Return the verdict on a table, the worst of its values that were computed."""
    counts = counts_of(cells)
    return next((verdict for verdict in (DIFFERS, WITHIN, EQUAL) if counts[verdict]), NOT_RUN)
