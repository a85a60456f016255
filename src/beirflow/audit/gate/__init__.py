"""The gate: a comparison with a baseline that passes or fails."""
