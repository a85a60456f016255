"""The interface of a family of systems: it turns a prepared corpus and its queries into runs.

A family is a room of the package, a rule file, a branch of the schema, and a line in ``experiment/families.py``. Nothing after
the runs knows it: every later step reads runs and their records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.files.layout import Pattern

TOKENS_PER_WORD = 1.3
"""Tokens of an English word in the vocabularies of common encoders; what was measured replaces it."""


class Setting(NamedTuple):
    """A setting that cannot be used: its key, its value, and a sentence that says why and what to do."""

    key: str
    value: Any
    problem: str


@dataclass(frozen=True)
class System:
    """A retrieval system.

    Attributes:
        name: Its name in the configuration, in paths and in tables.
        family: Name of its family.
        settings: The settings of that family, a frozen dataclass.
    """

    name: str
    family: str
    settings: Any


@dataclass(frozen=True)
class Stage:
    """A step of a family, and the seconds that two cores need for a unit of its work, in orders of magnitude.

    Progress starts from these seconds; measured times correct them during a run.

    Attributes:
        rule: Name of its rule.
        chunked: True if every chunk of a corpus has a job of its own, False if a corpus has one.
        word: Seconds for each word of the documents.
        pair: Seconds for each pair of a query and a document.
        query: Seconds for each query.
        row: Seconds for each row of the run.
        job: Seconds for each job, besides its start.
    """

    rule: str
    chunked: bool = False
    word: float = 0.0
    pair: float = 0.0
    query: float = 0.0
    row: float = 0.0
    job: float = 0.0

    def seconds(self, *, words: float = 0.0, pairs: float = 0.0, queries: float = 0.0, rows: float = 0.0) -> float:
        """Return the expected seconds of a job without its start, for its amounts of work."""
        return self.word * words + self.pair * pairs + self.query * queries + self.row * rows + self.job


class Reads(NamedTuple):
    """The systems whose runs a system is made from.

    Attributes:
        systems: Their names, by the key of the setting that names each, such as ``first`` or ``of.0``.
        depth: Documents of each run that are read; None for all.
    """

    systems: Mapping[str, str]
    depth: int | None = None


class TunedOn(NamedTuple):
    """Whose queries decide over settings of a system: those of another split of each dataset, or of one other dataset.

    Attributes:
        key: The key of the setting that says so.
        split: Name of the split; None if it is a dataset.
        dataset: Name of the dataset; None if it is a split.
    """

    key: str
    split: str | None = None
    dataset: str | None = None


def no_files(settings: Any) -> list[Path]:
    """The model files of a family without models: none."""
    return []


def no_runs(settings: Any) -> Reads:
    """What a family reads that needs no other system: nothing."""
    return Reads({})


def not_tuned(settings: Any) -> TunedOn | None:
    """What a family is tuned on whose settings are stated: nothing."""
    return None


def no_source(settings: Any, dataset: str) -> Path | None:
    """Where the run of a family is that makes its runs itself: nowhere yet."""
    return None


def nothing_searched(settings: Any) -> tuple[Pattern, ...]:
    """What a family searches that makes its runs of others: nothing of its own."""
    return ()


def nothing_stored(settings: Any, documents: int, words: float) -> float:
    """Return the bytes that a family stores of documents if it makes its runs of others: 0."""
    return 0.0


def matches_unknown(settings: Any) -> str | None:
    """What finds the matches of a family whose scores do not come from parts of texts: nothing."""
    return None


def no_given_files(settings: Any, dataset: str) -> dict[str, Path]:
    """The files of a family that makes everything itself: none."""
    return {}


@dataclass(frozen=True)
class Family:
    """A family of systems, described without importing what computes.

    Attributes:
        name: Its name in the configuration.
        settings: Makes the settings of a system from its name and its entry in the configuration, which the schema has checked.
        problem: Says which setting cannot be used here, as far as a look at the disk can tell; None if every one can.
        model_files: The files of a system's model that need no hub; their states are parameters of the jobs that use it.
        has_model: Whether its systems have one model, which ``fetch_model`` finds.
        model_digests: The digests of the files of a system's models by name, as its record of the model has them; None if there
            are no models.
        reads: The systems whose runs a system is made from.
        tuned_on: Whose queries decide over settings of a system; it reads the runs of ``reads`` on these too. None if nobody's.
        source: The file outside the results that holds the run of a system on a corpus; None where the run is made here.
        given_files: The files outside the results, by the keys of the settings that name them, that a system reads for a corpus
            besides its run.
        direct: Whether its rules write runs, not candidates that are merged.
        scores_all: Whether every document has a score for every query, so that a run is only shorter than ``top_k`` where the
            corpus is.
        own_candidates: Whether its systems rank only the candidates of each query, where a dataset says which these are.
        spot_checks: ``module:function`` that makes a sample again, :data:`~beirflow.runs.spot_check.SpotChecks`; None if there is
            none.
        follows: ``module:function`` that makes runs again from other files of the results, or from the file that they were read
            from, of the same kind; None where they do not follow from these.
        answers: ``module:function`` that opens a system for one query at a time, :data:`~beirflow.runs.answers.Open`; None where
            its systems cannot be asked.
        matches: ``module:function`` that says which parts of two texts match, :data:`~beirflow.runs.matches.FindMatches`; None
            where a score does not come from such parts.
        searched: The representations that a system searches, of every chunk where they have one.
        represents: The stage that turns the documents of a chunk into what is searched; None if nothing is.
        searches: The stage that searches a chunk; None if nothing is searched.
        other_stages: All others.
        stored_bytes: Bytes that the representation of a number of documents takes, from the settings of a system, the number, and
            the mean number of words of a document; what was measured here corrects it.
        assumed_size: Sizes that ``stored_bytes`` assumes, in words.
        stored: What else of its own a run is made from: representations of queries, or scores of pairs.
    """

    name: str
    settings: Callable[..., Any]
    problem: Callable[[Any], Setting | None]
    model_files: Callable[[Any], list[Path]] = no_files
    has_model: bool = False
    model_digests: Callable[[Any], dict[str, str]] | None = None
    reads: Callable[[Any], Reads] = no_runs
    tuned_on: Callable[[Any], TunedOn | None] = not_tuned
    source: Callable[[Any, str], Path | None] = no_source
    given_files: Callable[[Any, str], dict[str, Path]] = no_given_files
    direct: bool = False
    scores_all: bool = False
    own_candidates: bool = False
    spot_checks: str | None = None
    follows: str | None = None
    answers: str | None = None
    matches: Callable[[Any], str | None] = matches_unknown
    searched: Callable[[Any], tuple[Pattern, ...]] = nothing_searched
    stored: tuple[Pattern, ...] = ()
    represents: Stage | None = None
    searches: Stage | None = None
    other_stages: tuple[Stage, ...] = ()
    stored_bytes: Callable[[Any, int, float], float] = nothing_stored
    assumed_size: str = ""

    @property
    def stages(self) -> list[Stage]:
        """All stages."""
        return [stage for stage in (self.represents, self.searches, *self.other_stages) if stage]

    def system(self, name: str, entry: Mapping[str, Any]) -> System:
        """A system of this family.

        Args:
            name: Its name.
            entry: Its entry in the catalogue or in the configuration.

        Returns:
            The system.
        """
        given = {key: value for key, value in entry.items() if key != "family"}
        return System(name, self.name, self.settings(name=name, **given))
