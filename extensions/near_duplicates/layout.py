"""The paths of near-duplicates below the results."""

from beirflow.core.patterns import ForReading

SCORES = ForReading("near-duplicates/{dataset}/{other}.csv")
PAIRS = ForReading("near-duplicates/{dataset}/{other}-pairs.csv")
