"""The paths of files below the results that only writing has."""

from beirflow.core.patterns import Pattern

EXPANSION_LOG = Pattern("expansions/{expansion}/{dataset}/chunk-{chunk}.jsonl")
"""The progress of an interrupted job, at which the next one resumes."""
