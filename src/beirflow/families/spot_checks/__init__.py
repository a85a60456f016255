"""Checks of a sample of the results, made again by another path than the one that made them; each family has its own."""
