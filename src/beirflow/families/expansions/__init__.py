"""Additions to documents by models before indexing: generated queries, term weights."""
