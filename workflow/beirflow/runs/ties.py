"""Order of ties at the cut of a search."""

from typing import Literal

Ties = Literal["descending", "ascending"]
"""Order of ids by which a cut at k keeps the first of several documents with the same score."""
