"""The path of the record of given vectors below the results, and the names of their files outside."""

from beirflow.core.patterns import Pattern

GIVEN_VECTORS = Pattern("vectors/{system}/{dataset}.json")

DOCUMENT_VECTORS, DOCUMENT_IDS = "documents.npy", "documents.txt"
QUERY_VECTORS, QUERY_IDS = "queries.npy", "queries.txt"
FILES = (DOCUMENT_VECTORS, DOCUMENT_IDS, QUERY_VECTORS, QUERY_IDS)  # of a dataset, in a folder of its name
