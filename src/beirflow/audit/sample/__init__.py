"""A sample of texts, represented and searched again."""
