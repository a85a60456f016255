"""Results of an unknown sender, read record by record along their digests, for audits; the form of a check."""
