"""The facts that results say only once, so that an audit has nothing to compare them with. It lists them on its page.

Whoever changes any other fact is found out, however many digests they make again (``pytest tests/audit``).
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Uncompared:
    """Facts that nothing else says.

    Attributes:
        files: Expression for the paths of the files that say them.
        keys: Expression for the keys, joined with slashes.
        why: What they are, and when something does say them.
    """

    files: str
    keys: str
    why: str

    def covers(self, path: str, keys: str) -> bool:
        """Whether a key of a file is one of these."""
        return re.fullmatch(self.files, path) is not None and re.fullmatch(self.keys, keys) is not None


UNCOMPARED = (
    Uncompared(".*", "job|jobs/.*", "names of jobs, but for what they share with paths"),
    Uncompared(
        ".*", "code|made/search_code(/.*)?", "digests of code; compared where the checkout here is of the commit, unchanged"
    ),
)
