"""Learned sparse retrieval: models that weigh the terms of a vocabulary (SPLADE, uniCOIL, SPARTA), postings, exact search."""
