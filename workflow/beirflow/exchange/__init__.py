"""Results compared with other results, and results for other tools."""
