"""Counts of relevant documents that no system can find, as records state them, and their words."""

from collections.abc import Mapping

RELEVANT = "relevant"  # count of ``corpus.json``: judgements of relevant documents; absent where all can be found

MISSING, LEFT_OUT, NO_CANDIDATE, OWN_ID = KINDS = (
    "relevant_without_document",
    "relevant_excluded",
    "relevant_not_candidate",
    "relevant_self_match",
)
"""Counts of ``corpus.json``, each absent where it is 0: relevant documents that the corpus lacks, that the query excludes, that
are no candidates of the query, and that have the id of the query. A judgement counts once, in the first of these.

The last ones are lost only where self matches are dropped."""

MEANING = {
    MISSING: "not in the corpus",
    LEFT_OUT: "in excluded_ids of their query",
    NO_CANDIDATE: "not in candidate_ids of their query",
    OWN_ID: "dropped as self matches, since they have the id of their query",
}
"""By kind, what is true of these documents, in words."""


def loss_in_words(counts: Mapping[str, int], *, drop_self_matches: bool, of_forums: bool = False) -> str:
    """Return how many relevant documents no system can find, and why; empty if all can be found or the count is unknown.

    Counts ``of_forums`` are sums, in which the relevant documents of a forum without such a loss are missing.
    """
    lost = {kind: counts[kind] for kind in KINDS if counts.get(kind) and (kind != OWN_ID or drop_self_matches)}
    if counts.get(RELEVANT) == 0:
        where = "of some forums, " if of_forums else ""
        return f"{where}no judged document is relevant, so no score means anything"
    if not lost:
        return ""
    why = ", ".join(f"{number:,} {MEANING[kind]}" for kind, number in lost.items())
    number = f"{sum(lost.values()):,}" if of_forums else of_all(sum(lost.values()), counts[RELEVANT])
    return f"{number} relevant documents cannot be found by any system: {why}"


def of_all(some: int, all_of_them: int) -> str:
    """Write a share in numbers, such as ``3 of 9`` or ``all 9 of 9``."""
    return f"{'all ' if some == all_of_them else ''}{some:,} of {all_of_them:,}"
