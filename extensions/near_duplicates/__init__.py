"""Near-duplicates of a test set in another corpus, such as training data, and the scores without them."""

from pathlib import Path

from beirflow.core.extensions import Extension
from beirflow.core.patterns import Pattern
from beirflow.extensions.near_duplicates import layout

EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=tuple(value for value in vars(layout).values() if isinstance(value, Pattern)),
    files={layout.SCORES: "scores with and without the queries that another dataset has too"},
)
