"""Stage `prepare-msmarco`: a corpus of MS MARCO's size and shape through prepare, within 4 GB."""
