"""The paths of the files of the choice below the results."""

from beirflow.core.patterns import ForReading

PAGE = ForReading("choice.html")
TABLE = ForReading("choice.csv")
RECORD = ForReading("choice.json")
