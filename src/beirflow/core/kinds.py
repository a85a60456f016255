"""Kinds of results by their paths: representations, derived files, traces of jobs."""

from collections.abc import Iterable

from beirflow.core import layout
from beirflow.core.extensions import extensions
from beirflow.core.patterns import Derived, Pattern, Trace, is_safe, patterns_in

PATTERNS = (*patterns_in(layout), *(pattern for extension in extensions() for pattern in extension.patterns))
DERIVED = tuple(pattern for pattern in PATTERNS if isinstance(pattern, Derived))

PAGES = {record: page for extension in extensions() for record, page in extension.pages.items()}
"""Pages of extensions by the patterns of their records."""

PAGE_RECORDS: dict[str, str] = {layout.REPORT_RECORD: layout.REPORT, **{record: page.path for record, page in PAGES.items()}}
"""Records of derived files, and the page that each was written with."""

INVENTORIES = tuple(inventory for extension in extensions() for inventory in extension.inventories)
COPIES = tuple(f"{inventory.copies}/" for inventory in INVENTORIES)

CHUNKS_OF_REPRESENTATIONS = (layout.CHUNK_VECTORS, layout.INDEX, layout.POSTINGS, layout.TERM_WEIGHTS, layout.TOKEN_VECTORS)
"""Representations that grow with the corpus, and that no later step needs once a chunk has been searched."""

REPRESENTATIONS = tuple({pattern.folder(): None for pattern in (*CHUNKS_OF_REPRESENTATIONS, layout.EXPANSION)})
"""Folders of representations. They may be deleted to save disk; their digests stay known."""

TRACES = tuple(pattern.folder() for pattern in PATTERNS if isinstance(pattern, Trace))
"""Folders of logs, times and what extensions observe; no result depends on them."""


def is_one_of(path: str, patterns: Iterable[Pattern]) -> bool:
    """Test whether a path below the results has one of some patterns."""
    return any(pattern.names_in(path) is not None for pattern in patterns)


def is_derived(path: str) -> bool:
    """Test whether a path below the results is that of a derived file."""
    return path.startswith(COPIES) or is_one_of(path, DERIVED)


def exported_run(path: str) -> dict[str, str] | None:
    """Return system and dataset of a run in TREC form, by its path; None for any other path."""
    return layout.ANSERINI_RUN.names_in(path) or layout.TREC_RUN.names_in(path)


def is_trace(path: str) -> bool:
    """Test whether a path below the results is that of a log, an error, a table that was measured, or a lock."""
    return is_safe(path) and path.endswith((".log", layout.ERROR, ".tsv", ".lock"))
