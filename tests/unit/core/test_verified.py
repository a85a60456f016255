"""Files are the ones that were recorded, or what was done with them does not count."""

from pathlib import Path

import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.verified import checked_while_read, unchanged


def test_a_file_that_was_changed_is_named_after_it_was_read_whatever_reading_it_led_to(tmp_path: Path) -> None:
    path = tmp_path / "postings.arrow"
    path.write_text("as it was")
    digests = {str(path): file_digest(path)}
    with checked_while_read(digests):
        assert path.read_text() == "as it was"
    with pytest.raises(ValueError, match="no such query"), checked_while_read(digests):
        raise ValueError("no such query")
    path.write_text("as it is")
    with pytest.raises(DataError, match=r"postings\.arrow: sha256 .* but .*postings\.json says"), checked_while_read(digests):
        assert path.read_text() == "as it is"
    with pytest.raises(DataError, match="damaged or replaced"), checked_while_read(digests):
        raise IndexError("a row that no document has")


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text("as it was")
    with unchanged(path) as digest:
        assert digest == file_digest(path)
    with pytest.raises(DataError, match=r"given\.jsonl: the file changed while it was read; run again"), unchanged(path):
        path.write_text("as it is")
