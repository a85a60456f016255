"""Stage `evaluation`: NFCorpus, from a folder to metrics."""
