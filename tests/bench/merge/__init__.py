"""Stage `merge`: the candidates of 7,000 queries and 9 million documents to one run, in 18 chunks and in 180."""
