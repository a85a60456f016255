"""The power of the tests for drift: the smallest one-sided change of NDCG@10 that a sample of 100 finds with 95 %.

``pytest -m long -s tests/unit/runs/test_power.py`` prints the table of docs/audit.md.
"""
