"""Metrics, runs, samples and files for reading made again, and compared."""
