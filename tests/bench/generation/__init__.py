"""Stage `generation`: a T5 writes queries for documents."""
