"""Stage `score-pairs`: a cross-encoder scores pairs of query and document."""
