"""The family of fused systems: the runs of other systems, combined by rank or score."""
