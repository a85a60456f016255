"""Stage `prepare`: a corpus, from JSON lines to documents in order of their length."""
