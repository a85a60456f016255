"""Pages that a crate describes: the report, and the tables of the paper."""

from collections.abc import Sequence

from beirflow.audit.digests.chain import Chain
from beirflow.audit.digests.checks import RecordError
from beirflow.audit.digests.reading import part
from beirflow.files.digests import file_digest
from beirflow.files.layout import MANIFEST, PAPER, PAPER_RECORD, REPORT, REPORT_RECORD

PAGES = {
    str(REPORT_RECORD): (str(REPORT), "The report"),
    str(PAPER_RECORD): (str(PAPER), "Tables, figures and claims of the BEIR paper"),
}
"""Records of pages that a crate describes where they are there, with the page and what it is."""


def check_pages(chain: Chain, pages: Sequence[str]) -> None:
    """Raise RecordError for a page, a key of :data:`PAGES`, that was made from other results or lacks a file."""
    for record in pages:
        said = chain.read_whole(record)
        if part(said, "inputs", MANIFEST) != file_digest(chain.file(MANIFEST)):
            raise RecordError(f"is of {PAGES[record][0]}, which was made from other results", record)
        if missing := sorted(part(said, "outputs", kind=dict).keys() - chain.listing.files):
            raise RecordError(f"names {missing[0]}, which is not there", record)
