"""The family of approximate systems: indexes of faiss over the vectors of a dense system, and how many exact hits they find."""
