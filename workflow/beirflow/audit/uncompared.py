"""The facts that results say only once, so that an audit has nothing to compare them with. It lists them on its page.

Whoever changes any other fact is found out, however many digests they make again (``pytest tests/audit``).
"""

import re
from dataclasses import dataclass

from beirflow.files.layout import (
    LATENCY,
    MANIFEST,
    MATCHES,
    METRICS,
    MODEL,
    QUERY_TOKEN_VECTORS,
    QUERY_VECTORS,
    QUERY_WEIGHTS,
    RUN,
    STATISTICS_RECORD,
)


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
        """Test whether a key of a file is one of these."""
        return re.fullmatch(self.files, path) is not None and re.fullmatch(self.keys, keys) is not None


OF_THE_MACHINE = (
    "data_dir|mirrors(/.*)?|device|token_budget|jobs_per_gpu|keep_(archives|representations)|baseline|carbon_intensity"
    "|extra_judgements(/.*)?|pathvars/.*"
)
"""Keys of the configuration that change no number, or only in its last digits."""

RUNS, METRICS_OF_ALL, MODELS = (f"{pattern.folder()}.*" for pattern in (RUN, METRICS, MODEL))
VECTORS = f"({QUERY_VECTORS.folder()}|{QUERY_TOKEN_VECTORS.folder()}|{QUERY_WEIGHTS.folder()}).*"

UNCOMPARED = (
    Uncompared(MANIFEST, "written", "when the results were written; only that it is not to come"),
    Uncompared(MANIFEST, f"configuration/({OF_THE_MACHINE})", "where and on what was computed, and what may be deleted"),
    Uncompared(MANIFEST, "configuration/sample_seed", "the seed of samples; each dataset that is a sample says it, too"),
    Uncompared(MANIFEST, "made_by/.*", "who made the results, when and by which command"),
    Uncompared(MANIFEST, "environment/.*", "the machine of the summary; a package is compared where runs name it too"),
    Uncompared(MANIFEST, "repository/.*", "the commit, and whether it was clean; only that the checkout here has it"),
    Uncompared(RUNS, "seconds/(search|merge)", "how long the search and the merge took; metrics and costs repeat it"),
    Uncompared(
        RUNS,
        "counts/(self_matches_dropped|rows_without_judged_query|queries_ranked_otherwise)",
        "what was left out of a run or ranked otherwise, where a system may drop it; metrics repeat it",
    ),
    Uncompared(f"{LATENCY.folder()}.*", ".*", "how long answers took; the table of efficiency repeats it"),
    Uncompared(f"{MATCHES.folder()}.*", ".*", "what matched in the hits that are shown, which a model read again"),
    Uncompared(METRICS_OF_ALL, "seconds/evaluate", "how long the evaluation took; averages and costs repeat it"),
    Uncompared(VECTORS, "distinct_texts", "different texts that were encoded"),
    Uncompared(f"{QUERY_TOKEN_VECTORS.folder()}.*", "dim", "dimensions of token vectors"),
    Uncompared(STATISTICS_RECORD.format(analyzer=".*", dataset=".*"), "statistics/.*", "added up again where there is a sample"),
    Uncompared(
        VECTORS, "(encoder|weighed)/.*", "how texts were encoded, as read from the files of the model; settings are compared"
    ),
    Uncompared(MODELS, "card/.*", "what the files of the model say, which are compared where they are at hand"),
    Uncompared(MODELS, "training/.*|made/.*|(seconds|bytes|counts)/.*", "how a model was trained, which is not made again"),
    Uncompared(".*", "job|jobs/.*", "names of jobs, but for what they share with paths"),
    Uncompared(".*", "code|made/(search|scorer)_code(/.*)?", "digests of code; compared if the checkout is of the same commit"),
)
