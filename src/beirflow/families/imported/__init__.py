"""The family of imported runs: read and checked, then treated like any other."""
