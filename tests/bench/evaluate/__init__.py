"""Stage `evaluate`: the measures of a run."""
