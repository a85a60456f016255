"""The paths of near-duplicates below the results."""

from beirflow.core.patterns import Derived

SCORES = Derived("near-duplicates/{dataset}/{other}.csv")
PAIRS = Derived("near-duplicates/{dataset}/{other}-pairs.csv")
