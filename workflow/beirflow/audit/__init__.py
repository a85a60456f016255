"""Checks that results are what they claim: digests, sources, recomputation, samples, published scores."""
