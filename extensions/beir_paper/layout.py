"""The paths of the files of the BEIR paper below the results."""

from beirflow.core.patterns import Derived

TABLE = Derived("beir_paper/{table}.csv")
FIGURE_PDF = Derived("beir_paper/{figure}.pdf")
FIGURE_SVG = Derived("beir_paper/{figure}.svg")
WORDS = Derived("beir_paper/words/{dataset}.parquet")
STATISTICS = Derived("beir_paper/words/{dataset}.json")
PAGE = Derived("beir_paper/index.html", "overlap, lengths, annotation bias and efficiency of the BEIR paper")
RECORD = Derived("beir_paper/index.json")
