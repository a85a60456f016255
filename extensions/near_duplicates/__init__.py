"""Near-duplicates of a test set in another corpus, such as training data, and the scores without them."""

from pathlib import Path

from beirflow.core.extensions import Extension
from beirflow.core.patterns import patterns_in
from beirflow.extensions.near_duplicates import layout

EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
)
