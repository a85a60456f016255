"""Late interaction: one vector per token, the exact sum of each query token's best match (ColBERT and similar models)."""
