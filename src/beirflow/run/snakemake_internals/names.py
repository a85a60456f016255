"""Names that Snakemake gives to its files."""

LOCKS = ".snakemake/locks"  # folder of the lists of what runs in a working directory write, a file a run with a path a line
TIMESTAMP = ".snakemake_timestamp"  # name of an empty file in each folder that is the output of a rule
NOTES = ".snakemake/beirflow"  # our own folder beside Snakemake's notes, and as safe to delete
