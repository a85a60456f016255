"""Encoders that are trained for each dataset, on queries that a model writes for its documents (GenQ)."""
