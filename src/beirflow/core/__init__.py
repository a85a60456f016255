"""Writing and reading results: layout, atomic writing, digests, records, progress, and disk errors."""
