"""Queries that are lists of texts, as one text of ``queries.parquet``."""

from collections.abc import Sequence

_BETWEEN = " \ufdd1 "  # separator of texts: Unicode has the character for no text; the spaces keep words apart


def as_query(texts: Sequence[str]) -> str | None:
    """Join texts to one, which :func:`texts_of` takes apart; None if a text has the character that separates them."""
    return None if any(_BETWEEN.strip() in text for text in texts) else _BETWEEN.join(texts)


def texts_of(query: str) -> list[str]:
    """Return the texts of a query; it is a single one unless its dataset has lists."""
    return query.split(_BETWEEN)


def for_reading(query: str) -> str:
    """Return a query for people, with semicolons between the texts of a list."""
    return "; ".join(texts_of(query))
