"""Results read record by record along their digests; the form of a check."""
