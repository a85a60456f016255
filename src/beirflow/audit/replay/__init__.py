"""Recorded steps, run again by the rules and compared with the results."""
