"""The BEIR paper as targets: its tables, figures and findings, computed from the available results, beside the printed ones."""
