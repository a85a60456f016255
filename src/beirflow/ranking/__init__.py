"""Runs: the ranking rule, the candidates of a chunk, the merge, run files, and the interface of a family."""
