"""A results folder as untrusted data: its files, their limits, and reading them."""
