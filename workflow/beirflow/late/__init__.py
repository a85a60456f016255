"""Late interaction: one vector a token, the exact sum of each query token's best match (ColBERT and its kin)."""
