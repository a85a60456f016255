"""The interface of a family of systems: it turns a prepared corpus and its queries into runs.

A family is a folder with a subclass of :class:`Family`, and a line in ``config/families.py``. No other module names it: they call
the methods of the object, and the workflow makes a rule of each of its stages. Defaults of :class:`Family` fit a family without a
model, so that a family defines only what it needs::

    class LexicalFamily(Family):
        name = "lexical"
        settings = LexicalSettings
        stages = (Stage("index_chunk", …, reads={"documents": DOCUMENTS}, makes={"postings": POSTINGS}),)

        def in_paths(self, settings: LexicalSettings) -> dict[str, str]:
            return {"system": settings.name, "analyzer": settings.index.name}

    FAMILY = LexicalFamily()

The module imports nothing that computes; functions that compute are named as ``module:function`` and imported by their jobs.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from beirflow.core.layout import MODEL
from beirflow.core.patterns import Pattern
from beirflow.families.stage import Stage
from beirflow.families.system import Setting, System
from beirflow.models.settings import LIBRARY, ONNX, ModelSettings
from beirflow.ranking.run_settings import settings_in_record

TOKENS_PER_WORD = 1.3  # tokens of an English word in the vocabularies of common encoders, until they are measured


class Reads(NamedTuple):
    """Systems whose runs a system is made from."""

    systems: Mapping[str, str]  # names, by the key of the setting that names each, such as "first" or "of.0"
    depth: int | None = None  # documents of each run that are read; None for all


class TunedOn(NamedTuple):
    """Queries on which settings of a system are tuned: of another split of each dataset, or of one other dataset."""

    key: str  # of the setting that names the split or the dataset
    split: str | None = None
    dataset: str | None = None


class Family:
    """A family of systems, described without importing what computes; methods get the settings of a system."""

    # Identity.
    name: ClassVar[str]  # in the configuration
    settings: ClassVar[type[Any]]  # class of the settings of its systems, a frozen dataclass with a "name"
    implied_by: ClassVar[str] = ""  # setting that only its systems have, which then need not name it

    # Kind of its systems.
    has_model: bool = False  # a system has one model, which fetch_model finds
    direct: bool = False  # its rules write runs, not candidates that are merged
    own_candidates: bool = False  # its systems can rank only the candidates of each query, where a dataset states these

    # By precision, how far what a model makes again may be from what it made: the length of the difference of two representations
    # over that of one, or of two scores of a query over the largest.
    within: ClassVar[Mapping[str, float]] = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1, "int8": 4e-1, "unknown": 1e-1}

    # Attributes of its settings.
    by_dataset: bool = False  # ``for_dataset``, since they differ between datasets
    has_card: bool = False  # ``configured``, names of the configured settings of an encoder; None without a card
    has_expansion: bool = False  # ``added``, the expansion that is added to documents, or that the model is made from, or None

    # Function for latency, as "module:function"; None if the family has none.
    answers: str | None = None  # opens a system for one query at a time: runs.answers.Open

    stages: tuple[Stage, ...] = ()  # each is a rule

    # Files.
    representations: tuple[Pattern, ...] = ()  # what its systems search, unless ``searched`` says otherwise

    # The configuration.

    @property
    def entries(self) -> dict[str, type[Any]]:
        """Return by key that only they have the classes of the keys of its entries; the last one needs none."""
        return {"": self.settings}

    def system(self, name: str, entry: Mapping[str, Any]) -> System:
        """Make a system from its entry in the catalogue or in the configuration."""
        given = {key: value for key, value in entry.items() if key != "family"}
        return System(name, self.name, self.settings(name=name, **given))

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
        """Return the settings for one corpus, by the names of the dataset and of the corpus: the dataset or one of its forums."""
        return settings.for_dataset(dataset, corpus) if self.by_dataset else settings

    def configured_settings(self, settings: Any) -> list[str] | None:
        """Return the names of the configured settings of an encoder; None where models have no card."""
        return settings.configured if self.has_card else None

    def only_candidates(self, settings: Any) -> bool:
        """Test whether a run is of the candidates that a dataset states, so that it must state some."""
        return False

    def reads_query_lists(self, settings: Any) -> bool:
        """Test whether a query may be a list of texts: its vector is their mean, or only runs of others are read."""
        return False

    def learns(self, settings: Any) -> bool:
        """Test whether a part of a system was trained, not counting the systems that it reads."""
        return True

    def compared(self, settings: Any) -> tuple[str, str] | None:
        """Return the name of the vectors that a system compares, and the configured similarity; None without vectors."""
        return None

    # Other systems.

    def reads(self, settings: Any) -> Reads:
        """Return the systems whose runs a system is made from."""
        return Reads({})

    def unreadable(self, settings: Any, other: System) -> str | None:
        """Return why another system cannot be one of these; None if it can."""
        return None

    def tuned_on(self, settings: Any) -> TunedOn | None:
        """Return the queries on which settings are tuned; a system reads the runs of ``reads`` on these too."""
        return None

    def run_settings(self, settings: Any, corpus: Mapping[str, Any], config: Mapping[str, Any], measure: str) -> dict[str, Any]:
        """Return the settings that determine a run: the system's, the corpus's, the depth, and the precision of a model.

        ``measure`` is the main measure, by which settings are tuned.
        """
        computes = self.model_record(settings) is not None or self.added(settings) is not None
        more = {"top_k": config["top_k"]} | ({"precision": config["precision"]} if computes else {})
        return settings_in_record(settings, corpus, **more, **({"main_measure": measure} if self.tuned_on(settings) else {}))

    def tolerance(self, settings: Any, precision: str) -> float:
        """Return how far what a system makes again may be from what it made in a precision, as ``within`` has it."""
        return self.within.get(precision, self.within["unknown"])

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
        return self.representations

    def indexes(self, settings: Any) -> list[Any]:
        """Return the settings of each index that several systems share, with a ``name``: one, or one for each language."""
        return []

    def added(self, settings: Any) -> Any:
        """Return the expansion that a system adds to documents, or is made from; None if there is none."""
        return settings.added if self.has_expansion else None

    def source(self, settings: Any, dataset: str) -> Path | None:
        """Return the file outside the results that holds the run of a system on a corpus; None where the run is made here."""
        return None

    def given_files(self, settings: Any, dataset: str) -> dict[str, Path]:
        """Return other files outside the results that a system reads for a corpus, by the keys of the settings that name them."""
        return {}

    # Models.

    def model_files(self, settings: Any) -> list[Path]:
        """Return the files of a system's model that need no hub; their states are parameters of the jobs that use it."""
        return []

    def model_record(self, settings: Any) -> Pattern | None:
        """Return the path of the record of a system's model; None if it has no model."""
        return MODEL if self.has_model else None

    def extras(self, settings: Any) -> list[str]:
        """Return the extras of beirflow whose packages a system computes with."""
        if self.model_record(settings) is None and self.added(settings) is None:
            return []
        if not isinstance(settings, ModelSettings):
            return ["models"]
        onnx = ["onnx"] if settings.weights.endswith(ONNX) else []
        return ["models", *onnx, *([settings.encoder] if settings.encoder == LIBRARY else [])]

    def form(self, settings: Any) -> Any:
        """Return the form in which the model of a system is made for each dataset, of families.form; None for one model."""
        return None

    # Representations.

    def reuses(self, settings: Any) -> bool:
        """Test whether representations of texts of one dataset are reused for equal texts of another."""
        return False

    def stored_bytes(self, settings: Any, documents: int, words: float) -> float:
        """Estimate the bytes of the representation of documents of so many words each; what was measured here corrects it."""
        return 0.0

    def matches(self, settings: Any) -> str | None:
        """Return ``module:function`` that finds matching parts of two texts, :data:`~beirflow.families.matches.FindMatches`."""
        return None

    def by_name(self, settings: Any) -> tuple[str, ...]:
        """Return the modules that the stages of a system import by name."""
        return ()
