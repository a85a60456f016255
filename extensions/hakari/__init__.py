"""Means over HAKARI-Bench's Nano sets as its authors report them, in the report."""

from pathlib import Path

from beirflow.core.extensions import Extension

EXTENSION = Extension(folder=Path(__file__).parent)
