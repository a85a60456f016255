"""Stage `bm25-msmarco`: BM25 on a corpus of MS MARCO's size, each job within 4 GB."""
