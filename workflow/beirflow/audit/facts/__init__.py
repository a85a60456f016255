"""Checks that records agree with each other, with the configuration, the catalogue and the sources."""
