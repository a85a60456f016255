"""The paths of the paper's files below the results."""

from beirflow.core.patterns import Derived

TABLE = Derived("paper/{table}.csv")
FIGURE_PDF = Derived("paper/{figure}.pdf")
FIGURE_SVG = Derived("paper/{figure}.svg")
WORDS = Derived("paper/words/{dataset}.parquet")
STATISTICS = Derived("paper/words/{dataset}.json")
PAGE = Derived("paper/index.html")
RECORD = Derived("paper/index.json")
