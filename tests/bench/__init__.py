"""Benchmarks: beirflow beside the public packages that do the same, on the same input."""
