"""Analyses of the paper beyond scores: shown queries, first hits, document lengths."""
