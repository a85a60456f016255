"""The settings in a late-interaction model's files: from a text to the vectors of its tokens.

Three layouts are supported: ColBERT's own, whose checkpoint has ``linear.weight`` beside a BERT and ``artifact.metadata``
beside both; PyLate's, whose ``config_sentence_transformers.json`` has markers and lengths; and the MultiVectorEncoder's of
sentence-transformers.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from beirflow.datasets.document_text import Kind
from beirflow.late.settings import LateSettings
from beirflow.models.card import Step


@dataclass(frozen=True)
class Expansion:
    """Tokens that fill up a query.

    Attributes:
        length: Tokens that it has then, special tokens and marker included.
        attend: Whether its own tokens see those that were added; these see its own in any case, and have vectors that count.
        token: The token that is added; None for the tokenizer's mask, or its end of a text where it has no mask.
        cut: Whether a longer query is cut to this length.
    """

    length: int
    attend: bool = False
    token: str | None = None
    cut: bool = True


@dataclass(frozen=True)
class Reading:
    """Steps from one kind of text to its vectors.

    Attributes:
        steps: The backbone, and what changes the vector of each token after it.
        prompt: What is written before every text.
        marker: The token that is put in after the first one, special or not, which the tokenizer knows as one; None for none.
        expansion: What a text is filled up with; None for nothing.
        skipped: Tokens whose vectors do not count.
        skips_unknown: Whether unknown tokens do not count either if one of the skipped words is no token, as in PyLate.
    """

    steps: tuple[Step, ...]
    prompt: str = ""
    marker: str | None = None
    expansion: Expansion | None = None
    skipped: tuple[str, ...] = ()
    skips_unknown: bool = False

    @property
    def max_length(self) -> int | None:
        """Tokens after which a text is cut; None for as many as the model reads."""
        length: int | None = self.steps[0].settings["max_length"]
        return length

    def cut_at(self, length: int) -> "Reading":
        """The same with another length, of what is filled up too."""
        first = replace(self.steps[0], settings={**self.steps[0].settings, "max_length": length})
        expansion = self.expansion and replace(self.expansion, length=length)
        return replace(self, steps=(first, *self.steps[1:]), expansion=expansion)


@dataclass(frozen=True)
class TokenCard:
    """Recipe of a model that turns texts into vectors of tokens.

    Attributes:
        queries: Of queries.
        documents: Of documents.
        open: By setting that has to be said, why the files do not say it.
        overridden: Names of the settings that the configuration has instead of what the files say.
    """

    queries: Reading
    documents: Reading
    open: Mapping[str, str] = field(default_factory=dict)
    overridden: tuple[str, ...] = ()

    def of(self, kind: Kind) -> Reading:
        """Return the steps from one kind of text to its vectors."""
        return self.queries if kind == "queries" else self.documents

    def of_kind(self, kind: Kind) -> dict[str, Any]:
        """Return the recipe for one kind of text, for a record."""
        reading = self.of(kind)
        facts = {key: value for key, value in asdict(reading).items() if value not in (None, (), False)}
        facts["steps"] = [asdict(step) for step in reading.steps]
        if reading.skipped:
            facts["skipped"] = " ".join(reading.skipped)
        return facts | {"overridden": list(self.overridden)}

    def problem(self) -> str | None:
        """Return what neither the files nor the configuration state, in a sentence; None if nothing is missing."""
        if not self.open:
            return None
        return f"{'; '.join(self.open.values())}. Set {' and '.join(self.open)} for this system, as in the model's paper"


def with_lengths(card: TokenCard, settings: LateSettings) -> TokenCard:
    """Override the statements of the model's files by those of the configuration.

    Args:
        card: What the files say.
        settings: What the configuration says; None is silence.

    Returns:
        How texts are encoded.
    """
    said = tuple(key for key in ("document_length", "query_length", "pool_factor") if getattr(settings, key) is not None)
    return replace(
        card,
        queries=_cut(card.queries, settings.query_length),
        documents=_cut(card.documents, settings.document_length),
        open={key: why for key, why in card.open.items() if key not in said},
        overridden=said,
    )


def _cut(reading: Reading, length: int | None) -> Reading:
    return reading if length is None else reading.cut_at(length)
