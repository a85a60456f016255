"""Count what a plan announces: the chunks that are encoded, and one evaluation a system and corpus.

python -m bench.plan.check PLAN CHUNK_DOCUMENTS
"""

import re
import sys
from pathlib import Path

from beirflow.catalogue.catalogue import load_catalogue

from bench.child import report

if __name__ == "__main__":
    catalogue = load_catalogue()
    sizes = [corpus.documents for of_row in catalogue.datasets.values() for corpus in of_row]
    chunks = sum(-(-size // int(sys.argv[2])) for size in sizes)
    systems = len(catalogue.systems) + 1  # the custom one
    expected = {"encode_chunk": systems * chunks, "evaluate_run": systems * len(sizes)}
    plan = Path(sys.argv[1]).read_text()
    counts = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", plan, re.MULTILINE)}
    if {rule: counts.get(rule) for rule in expected} != expected:
        sys.exit(f"expected a plan with {expected}, found {counts}")
    evaluations = expected["evaluate_run"]
    report(agree=f"the plan has {counts['total']:,} jobs: {systems} systems, {chunks} chunks each; {evaluations} evaluations")
