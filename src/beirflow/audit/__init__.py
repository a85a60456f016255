"""Audit of results from an unknown sender: all checks, the verdict and the page."""
