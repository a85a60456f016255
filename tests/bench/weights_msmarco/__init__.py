"""Stage `weights-msmarco`: the search of a chunk of learned weights of MS MARCO's size, within 4 GB."""
