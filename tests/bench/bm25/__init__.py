"""Stage `bm25`: from texts to postings, statistics and hits, beside bm25s and a real Lucene."""
