"""BM25 as Lucene computes it, bit for bit: analysis of texts, postings by chunk, statistics of the corpus, exact search."""
