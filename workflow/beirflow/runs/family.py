"""The interface of a family of systems: it turns a prepared corpus and its queries into runs.

A family is a room with a subclass of :class:`Family`, a rule file, a branch of the schema, and a line in
``experiment/families.py``. Nothing else names it: every other module asks the object. To add one, subclass :class:`Family` in its
``family.py``, state ``name``, ``settings`` and the attributes and methods whose default, which means "nothing", is not right, and
make the object::

    class LexicalFamily(Family):
        name = "lexical"
        settings = LexicalSettings
        represents = Stage("index_chunk", chunked=True, word=2e-6)

        def in_paths(self, settings: LexicalSettings) -> dict[str, str]:
            return {"system": settings.name, "analyzer": settings.index.name}

    FAMILY = LexicalFamily()

Methods get the settings of a system. The module imports nothing that computes; what computes is named as ``module:function``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from beirflow.files.layout import MODEL, Pattern
from beirflow.jobs.by_name import by_name

TOKENS_PER_WORD = 1.3
"""Tokens of an English word in the vocabularies of common encoders; what was measured replaces it."""


class Setting(NamedTuple):
    """A setting that cannot be used.

    Attributes:
        key: Its key.
        value: Its value.
        problem: A sentence that says why, and what to do.
        system: Name of the system whose setting it is, where it is another than the one that was asked.
    """

    key: str
    value: Any
    problem: str
    system: str | None = None


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


def system_of(name: str, entry: Mapping[str, Any]) -> System:
    """Make a system that the parameters of a rule state.

    Args:
        name: Its name.
        entry: ``family``, ``settings`` and ``kind``, the class of these as ``module:class``.

    Returns:
        The system.
    """
    return System(name, entry["family"], settings_of(entry["kind"], entry["settings"]))


def settings_of(kind: str, settings: Mapping[str, Any]) -> Any:
    """Build the settings of a system from the parameters of a rule: their class, as ``module:class``, and its fields."""
    return by_name(kind)(**settings)


@dataclass(frozen=True)
class Stage:
    """A step of a family, and the seconds that two cores need for a unit of its work, in orders of magnitude.

    Progress starts from these seconds; measured times correct them during a run.

    Attributes:
        rule: Name of its rule.
        chunked: True if every chunk of a corpus has a job of its own, False if a corpus has one.
        blocked: True if every block of queries has a job of its own.
        word: Seconds for each word of the documents.
        pair: Seconds for each pair of a query and a document.
        query: Seconds for each query.
        row: Seconds for each row of the run.
        job: Seconds for each job, besides its start.
    """

    rule: str
    chunked: bool = False
    blocked: bool = False
    word: float = 0.0
    pair: float = 0.0
    query: float = 0.0
    row: float = 0.0
    job: float = 0.0

    def seconds(self, *, words: float = 0.0, pairs: float = 0.0, queries: float = 0.0, rows: float = 0.0) -> float:
        """Return the expected seconds of a job without its start, for its amounts of work."""
        return self.word * words + self.pair * pairs + self.query * queries + self.row * rows + self.job


class Reads(NamedTuple):
    """Systems whose runs a system is made from.

    Attributes:
        systems: Their names, by the key of the setting that names each, such as ``first`` or ``of.0``.
        depth: Documents of each run that are read; None for all.
        compared: True if the system's own run is only compared with these runs, whose costs are then no part of its own.
    """

    systems: Mapping[str, str]
    depth: int | None = None
    compared: bool = False


class TunedOn(NamedTuple):
    """Queries that decide over settings of a system: of another split of each dataset, or of one other dataset.

    Attributes:
        key: The key of the setting that says so.
        split: Name of the split; None if it is a dataset.
        dataset: Name of the dataset; None if it is a split.
    """

    key: str
    split: str | None = None
    dataset: str | None = None


ITS_MODEL = Pattern("models")
"""Among the inputs of a :class:`Record`: the record of the model that the system uses, which may have been trained."""

FIRST_STAGES = Pattern("first_stages")
"""Among these: the runs that the system reads, with their records."""


class Record(NamedTuple):
    """The content of every record of one kind.

    Attributes:
        pattern: Path of such records.
        inputs: Files that theirs are made from, as far as the system has such files.
        outputs: Files that they are of.
        keys: Other keys.
        optional: Keys that some of them have.
    """

    pattern: Pattern
    inputs: tuple[Pattern, ...]
    outputs: tuple[Pattern, ...]
    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()


TOOK = ("made", "seconds", "bytes")
"""Keys of every record of what a job computed."""

ENCODED = (*TOOK, "counts", "system", "rows", "distinct_texts", "dim", "encoder")
"""Keys of the record of vectors."""


class Family:
    """A family of systems, described without importing what computes.

    Attributes:
        name: Its name in the configuration.
        settings: Class of the settings of its systems, a frozen dataclass with a ``name``.
        has_model: True if its systems have one model, which ``fetch_model`` finds.
        read_by_model: Kinds of work, see :func:`~beirflow.evaluation.measured_rates.work`, whose words a model reads.
        direct: True if its rules write runs, not candidates that are merged.
        scores_all: True if every document has a score for every query, so that a run is only shorter than ``top_k`` where the
            corpus is.
        own_candidates: True if its systems can rank only the candidates of each query, where a dataset says which these are.
        spot_checks: ``module:function`` that makes a sample again, :data:`~beirflow.runs.spot_check.SpotChecks`; None if there is
            none.
        follows: ``module:function`` that makes runs again from other files of the results, or from the file that they were read
            from, of the same kind; None where they do not follow from these.
        answers: ``module:function`` that opens a system for one query at a time, :data:`~beirflow.runs.answers.Open`; None where
            its systems cannot be asked.
        counts: Beginnings of the names of what its runs count themselves.
        stored: What else of its own a run is made from, besides what is searched: representations of queries, or scores of pairs.
        records: The records of what it stores.
        represents: The stage that turns the documents of a chunk into what is searched; None if nothing is.
        searches: The stage that searches a chunk; None if nothing is searched.
        other_stages: All others.
        assumed_size: Sizes that ``stored_bytes`` assumes, in words.
    """

    name: ClassVar[str]
    settings: ClassVar[type[Any]]
    has_model: bool = False
    read_by_model: tuple[str, ...] = ()
    direct: bool = False
    scores_all: bool = False
    own_candidates: bool = False
    spot_checks: str | None = None
    follows: str | None = None
    answers: str | None = None
    counts: tuple[str, ...] = ()
    stored: tuple[Pattern, ...] = ()
    records: tuple[Record, ...] = ()
    represents: Stage | None = None
    searches: Stage | None = None
    other_stages: tuple[Stage, ...] = ()
    assumed_size: str = ""

    @property
    def stages(self) -> list[Stage]:
        """All stages."""
        return [stage for stage in (self.represents, self.searches, *self.other_stages) if stage]

    def system(self, name: str, entry: Mapping[str, Any]) -> System:
        """Make a system of this family.

        Args:
            name: Its name.
            entry: Its entry in the catalogue or in the configuration.

        Returns:
            The system.
        """
        given = {key: value for key, value in entry.items() if key != "family"}
        return System(name, self.name, self.settings(name=name, **given))

    # The configuration.

    def split_entry(self, name: str, entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return the entries of the systems that an entry of the configuration defines, by their names."""
        return {name: entry}

    def problem(self, settings: Any) -> Setting | None:
        """Return a setting that cannot be used here, as far as a look at the disk can tell; None if every one can."""
        return None

    def problems_on(self, settings: Any, datasets: Iterable[str]) -> list[Setting]:
        """Return the settings that some datasets need and the system lacks."""
        return []

    def for_dataset(self, settings: Any, dataset: str, corpus: str) -> Any:
        """Return the settings as they are for one corpus.

        Args:
            settings: The settings of the system.
            dataset: Name of the dataset.
            corpus: Name of its corpus: of the forum, or of the dataset.

        Returns:
            The settings.
        """
        return settings

    def stated(self, settings: Any) -> list[str] | None:
        """Return the names of the settings of an encoder that the configuration states; None where models have no card."""
        return None

    def reads_query_lists(self, settings: Any) -> bool:
        """Test whether a query may be a list of texts: its vector is their mean, or only runs of others are read."""
        return False

    # Other systems.

    def reads(self, settings: Any) -> Reads:
        """Return the systems whose runs a system is made from."""
        return Reads({})

    def unreadable(self, settings: Any, other: System) -> str | None:
        """Return why another system cannot be one of these; None if it can."""
        return None

    def tuned_on(self, settings: Any) -> TunedOn | None:
        """Return the queries that decide over settings; a system reads the runs of ``reads`` on these too. None if nobody's."""
        return None

    def scorer(self, settings: Any) -> dict[str, Any]:
        """Return the settings of a reranker that scores pairs with the model of a system; empty if it cannot score pairs."""
        return {}

    def scored_by(self, settings: Any) -> str | None:
        """Return the name of what scores pairs, which may be a system; None where nothing does."""
        return None

    def with_scorer(self, settings: Any, scorer: Mapping[str, Any]) -> Any:
        """Return the settings of a reranker that scores pairs with the model of another system, from its ``scorer``."""
        return settings

    # Files.

    def in_paths(self, settings: Any) -> dict[str, str]:
        """Return the names in the paths of what a system stores: as ``system``, the one that represents texts for it."""
        return {"system": settings.name}

    def searched(self, settings: Any) -> tuple[Pattern, ...]:
        """Return the representations that a system searches, of every chunk where they have one."""
        return ()

    def index(self, settings: Any) -> Any:
        """Return what decides over an index that several systems search, with a ``name``; None without one."""
        return None

    def added(self, settings: Any) -> Any:
        """Return the expansion that a system adds to documents, or is trained on; None if there is none."""
        return None

    def source(self, settings: Any, dataset: str) -> Path | None:
        """Return the file outside the results that holds the run of a system on a corpus; None where the run is made here."""
        return None

    def given_files(self, settings: Any, dataset: str) -> dict[str, Path]:
        """Return other files outside the results that a system reads for a corpus, by the keys of the settings that name them."""
        return {}

    def model_files(self, settings: Any) -> list[Path]:
        """Return the files of a system's model that need no hub; their states are parameters of the jobs that use it."""
        return []

    def model_record(self, settings: Any) -> Pattern | None:
        """Return the path of the record of a system's model; None if it has no model."""
        return MODEL if self.has_model else None

    def model_digests(self, settings: Any) -> dict[str, str]:
        """Return the digests of the files of a system's models by name, as the record of the model has them."""
        return {}

    # Representations.

    def is_trained(self, settings: Any) -> bool:
        """Test whether the model of a system is trained for each dataset."""
        return False

    def reuses(self, settings: Any) -> bool:
        """Test whether representations of texts of one dataset are reused for equal texts of another."""
        return False

    def needs_every_chunk(self, settings: Any) -> bool:
        """Test whether the search of a chunk needs something of all chunks."""
        return False

    def stored_bytes(self, settings: Any, documents: int, words: float) -> float:
        """Estimate the bytes of the representation of documents; what was measured here corrects it.

        Args:
            settings: The settings of the system.
            documents: Number of documents.
            words: Mean number of words of a document.

        Returns:
            Bytes.
        """
        return 0.0

    def matches(self, settings: Any) -> str | None:
        """Return ``module:function`` that finds matching parts of two texts, :data:`~beirflow.runs.matches.FindMatches`."""
        return None

    def by_name(self, settings: Any) -> tuple[str, ...]:
        """Return the modules that the stages of a system import by name."""
        return ()
