"""Queries that are lists of texts, as one text of ``queries.parquet``."""

from collections.abc import Sequence

_BETWEEN = " \ufdd1 "
"""Unicode has the character for no text; the spaces keep words apart."""


def as_query(texts: Sequence[str]) -> str | None:
    """One text for a list.

    Args:
        texts: The texts of a query, one or more.

    Returns:
        What :func:`texts_of` takes apart again; None if a text has the character that stands between them.
    """
    return None if any(_BETWEEN.strip() in text for text in texts) else _BETWEEN.join(texts)


def texts_of(query: str) -> list[str]:
    """The texts of a query, which is a text alone unless its dataset has lists."""
    return query.split(_BETWEEN)


def for_reading(query: str) -> str:
    """A query for people: the texts of a list with semicolons between them."""
    return "; ".join(texts_of(query))
