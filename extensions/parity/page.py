"""The page and the JSON of a comparison."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.records import write_json
from beirflow.report.pages import Column, framed, words, write_page

COLUMNS = {
    "about": words("Text", "stub"),
    "kind": words("Kind"),
    "text": words("Beginning"),
    "length": Column("Length"),
    "cosine": Column("Cosine", ".6f"),
    "difference": Column("Relative difference", ".1e"),
}
CAPTION = "The server's vectors beside those of the weights with the model's own settings, each text in a request of its own"


def write(found: Mapping[str, Any], folder: Path) -> Path:
    """Write ``parity.json`` and ``parity.html``; return the path of the page."""
    write_json(folder / "parity.json", found)
    texts = pd.DataFrame(found["texts"]).assign(text=lambda frame: [ascii(text)[1:-1][:80] for text in frame["text"]])
    table = framed("Texts", CAPTION, texts, COLUMNS, without={*COLUMNS} - {*texts}, name="texts")
    page = folder / "parity.html"
    values = {**found, "title": "Parity of a server with weights", "table": table}
    write_page("parity.html.j2", page, values, scripts=["tables.js"])
    return page
