"""Models that score pairs of a query and a document."""
