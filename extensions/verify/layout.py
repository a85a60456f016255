"""The paths of a verification, in a folder of its own."""

from beirflow.core.patterns import Derived

STATEMENT = Derived("statement.json")
PAGE = Derived("verification.html")
