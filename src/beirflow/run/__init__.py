"""The surroundings of a job: its log, signals and lifetime, the GPU that it leases, and the digest of its code."""
