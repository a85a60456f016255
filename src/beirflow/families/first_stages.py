"""The runs that another run is made from."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beirflow.core.records import together, totals
from beirflow.ranking.run_file import NewRun, Run


class FirstRun(Run):
    """A run that another is made from, whose record names it and not what it was made from."""

    @property
    def ancestors(self) -> Mapping[str, str]:
        """Nothing."""
        return {}


def fields_of(
    run: NewRun, first: Sequence[FirstRun], *, made: Mapping[str, Any], seconds: Mapping[str, float], jobs: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the fields of the record of a run that is made from others; ``made``, ``seconds`` and ``jobs`` are of what it adds.

    Its times and sizes are those of the first stages and its own: what it takes to have such a run. A system counts once, also
    where several of the first stages were made from it.
    """
    records, parts = [each.record for each in first], dict[str, dict[str, Any]]()
    for record in records:
        own = {"seconds": record["seconds"], "bytes": record.get("bytes", {})}
        parts |= record.get("parts", {record["system"]: own})
    parts[run.system] = {"seconds": dict(seconds), "bytes": {}}
    made_from = {job for record in records for job in (record["job"], *record.get("jobs", ()))}
    return {
        **run.fields,
        "made": together([*(record["made"] for record in records), made]),
        "seconds": totals(parts.values(), "seconds"),
        "sizes": totals(parts.values(), "bytes"),
        "first_stages": [record["system"] for record in records],
        "parts": parts,
        "jobs": sorted({*made_from, *jobs}),
    }
