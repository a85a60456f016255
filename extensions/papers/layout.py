"""The paths of the pages of papers below the results."""

from beirflow.core.patterns import Derived

PAGE = Derived("papers/{paper}/index.html", "printed values of a paper beside computed ones; in a word: papers/<paper>")
RECORD = Derived("papers/{paper}/index.json")
CELLS = Derived("papers/{paper}/cells.csv")
FINDINGS = Derived("papers/{paper}/findings.csv")
