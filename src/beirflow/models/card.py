"""The settings in a model's files, and those of the configuration that override them: from a text to a vector."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.data.document_text import KINDS, Kind
from beirflow.models.settings import EncoderSettings

POOLING_MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
"""Modes of sentence-transformers, in the order in which the vectors of several are concatenated."""

INSTRUCTORS = ("hkunlp/instructor-base", "hkunlp/instructor-large", "hkunlp/instructor-xl")
"""Models whose files do not say that the tokens of the prompt are left out of the pooling, which is not done here."""


@dataclass(frozen=True)
class Step:
    """One module of a model."""

    kind: str  # ``transformer``, ``static``, ``pooling``, ``dense``, ``layer_norm`` or ``normalize``
    folder: str = ""  # where its files are, below the folder of the model; empty for that folder itself
    settings: Mapping[str, Any] = field(default_factory=dict)  # what its own configuration says, as far as it changes vectors


@dataclass(frozen=True)
class Card:
    """Recipe of a model that turns texts into vectors."""

    steps: Mapping[Kind, tuple[Step, ...]]  # by kind of text, the modules that it goes through, in order
    prompts: Mapping[Kind, str]  # by kind of text, what is written before every one
    similarity: str | None = None  # ``dot`` or ``cosine``; None where nothing says so
    dimensions: int | None = None  # leading dimensions that are kept; None for all
    open: Mapping[str, str] = field(default_factory=dict)  # by setting that has to be said, why the files do not say it
    overridden: tuple[str, ...] = ()  # names of the settings that the configuration has instead of what the files say

    def as_json(self) -> dict[str, Any]:
        """Return the card for a record."""
        steps = {kind: [asdict(step) for step in self.steps[kind]] for kind in KINDS}
        return asdict(self) | {"steps": steps, "overridden": list(self.overridden)}

    def of_kind(self, kind: Kind) -> dict[str, Any]:
        """Return the recipe for one kind of text, for a record."""
        facts = {"steps": [asdict(step) for step in self.steps[kind]], "prompt": self.prompts[kind]}
        return facts | {"dimensions": self.dimensions, "overridden": list(self.overridden)}


def check_open(reasons: Mapping[str, str]) -> None:
    """Refuse a model whose files and configuration leave settings open; ``reasons`` says of each why the files lack it."""
    if reasons:
        why = "; ".join(dict.fromkeys(reasons.values()))
        raise ModelError(f"{why}. Set {' and '.join(reasons)} for this system, as in the model's card or paper")


def joined(documents: Card, queries: Card) -> Card:
    """Return the card of a system whose queries have a model of their own."""
    similarity = documents.similarity if documents.similarity == queries.similarity else None
    reason = {} if similarity else {"similarity": "the models of queries and documents do not name the same similarity"}
    return Card(
        steps={"queries": queries.steps["queries"], "documents": documents.steps["documents"]},
        prompts={"queries": queries.prompts["queries"], "documents": documents.prompts["documents"]},
        similarity=similarity,
        dimensions=documents.dimensions,
        open={
            # Each model is asked for the prompt of its own kind of text only.
            **{key: why for key, why in queries.open.items() if key != "document_prefix"},
            **{key: why for key, why in documents.open.items() if key != "query_prefix"},
            **reason,
        },
    )


def with_settings(card: Card, settings: EncoderSettings, similarity: str | None = None) -> Card:
    """Override the statements of a model's files by the settings that are not None.

    Raises ModelError for a setting that does not apply to such a model.
    """
    of_card: dict[str, Any] = {"similarity": similarity, "dimensions": settings.dimensions}
    of_steps = {"pooling": settings.pooling, "normalize": settings.normalize, "max_length": settings.max_length}
    prefixes = {"query_prefix": settings.query_prefix, "document_prefix": settings.document_prefix}
    configured = {key: value for key, value in {**of_card, **of_steps, **prefixes}.items() if value is not None}
    return replace(
        card,
        **{key: configured[key] for key in of_card if key in configured},
        prompts={
            "queries": configured.get("query_prefix", card.prompts["queries"]),
            "documents": configured.get("document_prefix", card.prompts["documents"]),
        },
        steps={kind: _changed(steps, settings) for kind, steps in card.steps.items()},
        open={key: reason for key, reason in card.open.items() if key not in configured},
        overridden=tuple(sorted(configured)),
    )


def _changed(steps: tuple[Step, ...], settings: EncoderSettings) -> tuple[Step, ...]:
    """Apply the configured pooling, normalisation and length to the modules of one kind of text."""
    first, *others = steps
    if settings.max_length is not None:
        first = replace(first, settings={**first.settings, "max_length": settings.max_length})
    if settings.pooling is not None:
        if first.settings.get("output", "tokens") != "tokens" and settings.pooling != "pooler":
            raise ModelError(f"pooling is {settings.pooling!r}, but this model gives one vector per text itself; remove the key")
        pooling = [step for step in others if step.kind == "pooling"] or [Step("pooling")]
        changed = replace(pooling[0], settings={**pooling[0].settings, "modes": [settings.pooling]})
        # One pooling in the place of several, directly behind the backbone.
        others = [changed, *(step for step in others if step.kind != "pooling")]
    if settings.normalize is not None:
        others = [step for step in others if step.kind != "normalize" or settings.normalize]
        if settings.normalize and not (others and others[-1].kind == "normalize"):
            others.append(Step("normalize"))
    return (first, *others)
