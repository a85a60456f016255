"""The BEIR paper as targets: its tables, figures and findings, made of the results that are here, beside what it prints."""
