"""The paths of the files of the choice below the results."""

from beirflow.core.patterns import Derived

PAGE = Derived("choice.html", "recommended system: quality against latency, bytes and prices")
TABLE = Derived("choice.csv")
RECORD = Derived("choice.json")
