"""The family of rerankers: a model reads the query together with each of the first documents of another run."""
