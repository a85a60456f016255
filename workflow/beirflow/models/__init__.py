"""From weights on disk or on a hub to a computing model."""
