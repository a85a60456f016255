"""Datasets compared with a decontaminated or a smaller twin: means, ranks and orders of systems on both, in the report."""

from pathlib import Path

from beirflow.core.extensions import Extension

EXTENSION = Extension(folder=Path(__file__).parent)
