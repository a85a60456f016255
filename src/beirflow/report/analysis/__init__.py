"""Analyses beyond scores: inspected queries, first hits, document lengths."""
