"""The keys of the file of a paper: what it prints, where, and of which systems."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from annotated_types import Interval, MinLen

from beirflow.config.systems import absent_systems, catalogue_systems
from beirflow.core.keys import LEFT_OUT, UNIQUE, Expected, Keys, Name, OrNull, Share, Text
from beirflow.evaluation.conventions import CONVENTIONS
from beirflow.extensions.papers.findings import FORMS, parse
from beirflow.ranking.measures.all_measures import MEASURES


def is_measure(text: str) -> bool:
    """Test whether a text is a measure with its cutoff."""
    name, _, cutoff = text.partition("@")
    return name in MEASURES and cutoff.isdecimal()


Comparison = Annotated[str, Expected(parse, f"expected {' or '.join(FORMS)}")]
KNOWN_SYSTEMS = (*catalogue_systems(), *absent_systems())
Measure = Annotated[str, Expected(is_measure, "expected a measure with its cutoff, such as NDCG@10; `list measures` has all")]
SystemName = Annotated[str, Expected(KNOWN_SYSTEMS.__contains__, choices=KNOWN_SYSTEMS)]
Names = Annotated[list[Text], MinLen(1), UNIQUE]
ConventionsName = Annotated[str, Expected(CONVENTIONS.__contains__, choices=(*CONVENTIONS,))]
Decimals = Annotated[int, Interval(ge=1, le=6)]


@dataclass(frozen=True)
class Source:
    """A source of printed values; the one of a transcription is not the source itself."""

    kinds: ClassVar = {
        "repo": Keys(("repo", "path", "commit"), ("place", "note")),
        **{key: Keys((key,), ("place", "note")) for key in ("url", "transcription", "manifest")},
    }
    place: Text
    """Where in the source the values are: section, table, row, column."""
    repo: Text = LEFT_OUT
    """Public repository, owner/name."""
    path: Text = LEFT_OUT
    """File in the repository."""
    commit: Text = LEFT_OUT
    """Commit of the repository."""
    url: Text = LEFT_OUT
    """Address of a page."""
    transcription: Text = LEFT_OUT
    """What was read instead of the source itself."""
    manifest: Text = LEFT_OUT
    """The sha256 of the manifest of results of beirflow."""
    note: Text = LEFT_OUT
    """How the values were checked, or what is odd about them."""


@dataclass(frozen=True)
class Tolerance:
    """A difference that a source explains."""

    within: Share
    """The largest such difference, beyond the rounding of the last digit."""
    reason: Text
    """What causes it, such as half precision."""
    datasets: Names = LEFT_OUT
    """The datasets that it is about; all if left out."""


@dataclass(frozen=True)
class Barred:
    """Values of a dataset that look alike and are not."""

    reason: Text
    """Why."""
    measures: Names = LEFT_OUT
    """The measures that it is about; all if left out."""


@dataclass(frozen=True)
class PrintedSystem:
    """A system of the paper, with its printed values."""

    scores: dict[str, Annotated[list[OrNull[Share]], MinLen(1)]]
    """By dataset, its values in the order of measures, as fractions; null for one that is not printed."""
    system: SystemName | Annotated[list[SystemName], MinLen(1), UNIQUE] = LEFT_OUT
    """The system of the catalogue; of several, the first that is configured."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings that the source states: of another value than in the catalogue, they make a system of their own."""
    needs: Text = LEFT_OUT
    """Why no system here is this one, and what it needs."""
    source: Name = LEFT_OUT
    """The source of its values, where the file has several."""
    conventions: ConventionsName = LEFT_OUT
    """Its conventions, where they are not those of the file."""
    decimals: Decimals = LEFT_OUT
    """Its decimals, where they are not those of the file."""
    tolerance: Tolerance = LEFT_OUT
    """A difference that its source explains."""
    not_comparable: dict[str, Barred] = field(default_factory=dict)
    """By dataset, what may not be compared."""
    note: Text = LEFT_OUT
    """What a reader must know."""


@dataclass(frozen=True)
class Finding:
    """A finding of the paper that is a comparison of means."""

    says: Text
    """What the paper says."""
    compare: Comparison | Annotated[list[Comparison], MinLen(1), UNIQUE]
    """The comparison that decides; of several, all must hold."""
    number: Text = LEFT_OUT
    """Its number in the text of the paper, if it has one."""
    place: Text = LEFT_OUT
    """Where the paper says it."""
    measure: Measure = LEFT_OUT
    """The measure; the first of the file if left out."""
    datasets: Names = LEFT_OUT
    """The datasets that it is about; all that are not in_domain if left out."""


@dataclass(frozen=True)
class PaperKeys:
    """The keys of the file of a paper."""

    title: Text
    """Its title."""
    citation: Text
    """Authors, year, and where it was published."""
    measures: Annotated[list[Measure], MinLen(1), UNIQUE]
    """The measures of its tables."""
    decimals: Decimals
    """The decimals of the fractions that it prints."""
    sources: Annotated[dict[Name, Source], MinLen(1)]
    """By name, where its values were read."""
    systems: Annotated[dict[str, PrintedSystem], MinLen(1)]
    """By the name that the paper has for it, each system."""
    conventions: ConventionsName = "beirflow"
    """How its evaluator reads a run."""
    precision: Text = LEFT_OUT
    """The precision in which its authors computed, where they state it."""
    in_domain: Names = LEFT_OUT
    """Datasets that its systems were trained on: no finding is over them unless it names them."""
    printed_as: dict[str, dict[Measure, Measure]] = field(default_factory=dict)
    """By dataset and measure, the measure that is printed under this name."""
    not_comparable: dict[str, Barred] = field(default_factory=dict)
    """By dataset, what may not be compared, whatever the system."""
    tolerance: Tolerance = LEFT_OUT
    """A difference that a source explains."""
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Its datasets that the catalogue lacks, as custom.datasets of a configuration has them."""
    findings: list[Finding] = field(default_factory=list)
    """Its findings that are comparisons."""
