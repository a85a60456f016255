"""The paths of near-duplicates below the results."""

from beirflow.core.patterns import Derived

SCORES = Derived("near-duplicates/{dataset}/{other}.csv", "scores with and without the queries that another dataset has too")
PAIRS = Derived("near-duplicates/{dataset}/{other}-pairs.csv")
