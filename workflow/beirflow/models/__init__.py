"""From weights on disk or on a hub to something that computes."""
