"""Encoders of three architectures, ours beside sentence-transformers."""
