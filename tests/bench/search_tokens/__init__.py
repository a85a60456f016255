"""Stage `search-tokens`: the exact search of token vectors, by late interaction."""
