"""JSON of unknown origin: files of models, records that somebody sent, answers of servers."""

import json
from typing import Any


def parse_json(content: str | bytes, **options: Any) -> Any:
    """Parse JSON that somebody else wrote, as ``json.loads``; ValueError if it is not JSON in UTF-8, or nested too deeply."""
    try:
        return json.loads(content, **options)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
