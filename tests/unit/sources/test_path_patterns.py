"""Which paths a pattern matches: compared with fsspec, by which hubs resolve the patterns of a card."""

import itertools
import re

import pytest
from beirflow.sources.path_patterns import matching

utils = pytest.importorskip("fsspec.utils")

PATHS = ["/".join(parts) for count in (1, 2, 3) for parts in itertools.product(("a", "ab", "b.x"), repeat=count)]
COMPONENTS = ("**", "*", "a*", "*b*", "?", "[ab]", "ab", "*.x")


def test_patterns_match_what_they_match_on_a_hub() -> None:
    for count in (1, 2, 3):
        for parts in itertools.product(COMPONENTS, repeat=count):
            pattern = "/".join(parts)
            expression = re.compile(utils.glob_translate(pattern))
            assert matching(pattern, PATHS) == [path for path in PATHS if expression.fullmatch(path)], pattern


def test_several_folders_need_a_component_of_their_own() -> None:
    with pytest.raises(ValueError, match="is not a whole component"):
        matching("a**/b", ["a/b"])
    with pytest.raises(ValueError, match="entire path component"):
        utils.glob_translate("a**/b")
