"""Pages for reading, from the templates in ``workflow/report``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from beirflow.files import atomic_path

TEMPLATES = Path(__file__).parent.parent / "report"


def write_page(template: str, path: Path, values: Mapping[str, Any]) -> None:
    """Fill a template; what it is filled with is escaped.

    Args:
        template: Name of a file in ``workflow/report``.
        path: HTML to write.
        values: By the names that the template uses.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.get_template(template).render(report=values)
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")
