"""The choice of a system: quality beside latency, bytes and prices, on a page of its own."""

from pathlib import Path

from beirflow.core.extensions import Extension, Page
from beirflow.core.patterns import patterns_in
from beirflow.extensions.choice import layout

EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    targets={"choice": (layout.PAGE, "quality beside latency, bytes and prices")},
    files={layout.PAGE: "which system to take: quality beside latency, bytes and prices"},
    pages={layout.RECORD: Page(layout.PAGE, configured=("prices", "choice"))},
    without_influence=("choice",),
)
