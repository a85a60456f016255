"""Stage `search-weights`: the search of weights of terms as a SPLADE gives them."""
