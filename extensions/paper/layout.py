"""The paths of the paper's files below the results."""

from beirflow.core.patterns import ForReading

TABLE = ForReading("paper/{table}.csv")
FIGURE_PDF = ForReading("paper/{figure}.pdf")
FIGURE_SVG = ForReading("paper/{figure}.svg")
WORDS = ForReading("paper/words/{dataset}.parquet")
STATISTICS = ForReading("paper/words/{dataset}.json")
PAGE = ForReading("paper/index.html")
RECORD = ForReading("paper/index.json")
