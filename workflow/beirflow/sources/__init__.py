"""Where datasets come from, in whatever form: each source yields the lines of the files of BEIR."""
