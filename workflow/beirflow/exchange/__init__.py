"""Results beside other results, and results for other tools."""
