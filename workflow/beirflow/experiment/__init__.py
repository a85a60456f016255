"""The configuration joined with the catalogue, for the rules, and the manifest of a run."""
