"""Results followed record by record along their digests, read as a stranger wrote them; the form of a check."""
