"""Encoders trained for each dataset, on queries generated for its documents (GenQ)."""
