"""Count the evaluations that a plan announces: one a system and corpus.

python -m bench.plan.check PLAN
"""

import re
import sys
from pathlib import Path

from beirflow.catalogue import load_catalogue

from bench.child import report

if __name__ == "__main__":
    catalogue = load_catalogue()
    corpora = sum(len(of_row) for of_row in catalogue.datasets.values())
    expected = (1 + len(catalogue.systems)) * corpora
    plan = Path(sys.argv[1]).read_text()
    counts = dict(re.findall(r"^(\w+) +(\d+)$", plan, re.MULTILINE))
    if counts.get("evaluate_run") != str(expected):
        sys.exit(f"expected a plan with {expected} evaluations, found {counts}")
    report(agree=f"the plan has {counts['total']} jobs, {expected} of them evaluations")
