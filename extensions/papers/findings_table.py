"""The table of findings on a page."""

from typing import Any

import pandas as pd

from beirflow.report.pages import Table, framed, texts

FOUND = texts("stub", says="Finding") | texts(place="Place", compare="Decided by", printed="Printed", here="Here")


def findings_table(findings: pd.DataFrame, **options: Any) -> Table:
    """Return the table of findings from ``findings.csv``; ``options`` are fields of the table."""
    caption = "Findings that are comparisons, by the printed values and by those here"
    found = findings.assign(**{key: findings[key] + ": " + findings[f"found_{key}"] for key in ("printed", "here")})
    return framed("Findings", caption, found, FOUND, **options)
