"""Each family lives in a folder of its own, and nothing outside it names it."""

from beirflow.config.families import FAMILIES
from beirflow.core.kinds import CHUNKS_OF_REPRESENTATIONS, REPRESENTATIONS


def test_chunks_of_every_family_are_known_to_be_representations() -> None:
    for family in FAMILIES.values():
        chunks = {pattern for pattern in family.representations if "{chunk}" in pattern}
        assert chunks <= set(CHUNKS_OF_REPRESENTATIONS), family.name
        assert all(chunk.startswith(REPRESENTATIONS) for chunk in chunks), family.name
