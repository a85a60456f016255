"""The family of fused systems: the runs of others, put together by their ranks or their scores."""
