"""JSON that somebody else wrote is read, or a ValueError says why not."""

import pytest

from beirflow.core.outside_json import parse_json


@pytest.mark.parametrize("content", [b"[" * 200_000, '{"a":' * 200_000, b"", b"\xff\xfe\xfa", "{'a': 1}"])
def test_whatever_is_no_json_is_a_value_error(content: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"it is nested too deeply" if len(content) > 8 else r"Expecting|decode"):
        parse_json(content)
    assert parse_json('{"a": [1]}', object_pairs_hook=list) == [("a", [1])]
