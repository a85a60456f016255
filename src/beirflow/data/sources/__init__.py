"""Sources of datasets, in whatever form: each yields the lines of the files of BEIR."""
