"""The configuration joined with the catalogue and the families, and the expected cost of a run; for the rules only."""
