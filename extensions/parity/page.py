"""The page and the JSON of a comparison."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.records import write_json
from beirflow.report.pages import framed, write_page


def write(found: Mapping[str, Any], folder: Path) -> Path:
    """Write ``parity.json`` and ``parity.html``; return the path of the page."""
    write_json(folder / "parity.json", found)
    texts = pd.DataFrame(found["texts"]).assign(text=lambda frame: [ascii(text)[1:-1][:80] for text in frame["text"]])
    table = framed("parity", texts, without=[key for key in ("cosine", "difference") if key not in texts])
    page = folder / "parity.html"
    values = {**found, "title": "Parity of a server with weights", "table": table}
    write_page("parity.html.j2", page, values, scripts=["tables.js"])
    return page
