"""Draw the figures."""
