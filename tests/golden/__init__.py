"""The same results as those of an earlier commit, made side by side: ``make golden``."""
