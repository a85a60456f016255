"""Comparison of results with other results, and results for other tools."""
