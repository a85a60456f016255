"""Checks by computing again: metrics and the summary, and representations and searches on a sample."""
