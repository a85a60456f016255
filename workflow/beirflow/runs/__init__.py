"""Runs: the ranking rule, the candidates of a chunk, the merge, run files, and what a family of systems is."""
