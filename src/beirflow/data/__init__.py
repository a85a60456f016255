"""From the source of a dataset to documents, queries and qrels in Parquet, chunk by chunk."""
