"""The paths of counted energy below the results."""

from beirflow.core.patterns import Trace

ENERGY = Trace("energy/{job}.tsv")
