"""The first sentence of the report: the best system, its interval, and the systems that the tests cannot tell apart from it."""

import re
from typing import Any

from beirflow.evaluation.uncertainty import QUERIES
from beirflow.report.pages import listed
from beirflow.report.results import Results
from beirflow.report.uncertainty import span_of

MEAN = re.compile(r"mean of (\d+)\b")  # name of a mean over datasets


def verdict(results: Results) -> dict[str, Any]:
    """Return the parts of the sentence, by the first column of the leaderboard."""
    summary, measure = results.summary, results.main_measure
    datasets = summary[summary["split"].notna()]
    name = next(iter([*summary[summary["split"].isna()]["dataset"], *datasets["dataset"]]))
    ranked = summary[summary["dataset"] == name].sort_values(measure, ascending=False, kind="stable").set_index("system")
    best, averaged = str(ranked.index[0]), MEAN.match(name)
    tested = results.uncertainty
    of_queries = (tested["measure"] == measure) & (tested["dataset"] == name) & (tested["resampled"] == QUERIES)
    tested = tested[of_queries].set_index("system")
    letters = {str(system): {*groups.split()} for system, groups in tested["groups"].dropna().items()}
    alike = [system for system in ranked.index[1:] if letters.get(system, set()) & letters.get(best, set())]
    highest = datasets[datasets[measure] == datasets.groupby("dataset")[measure].transform("max")]
    known = best in tested.index and bool(tested["low"].notna()[best])
    other = results.baseline if results.baseline != best and results.baseline in ranked.index else None
    return {
        "system": best,
        "of": len(ranked),
        "measure": measure,
        "mean": f"{ranked[measure].iloc[0]:.4f}",
        "interval": span_of(tested["low"][best], tested["high"][best], ".4f").text if known else "",
        "dataset": name,
        "datasets": int(averaged[1]) if averaged else 1,
        "wins": int((highest["system"] == best).sum()),
        "all": datasets["dataset"].nunique(),
        "alike": listed(alike) if alike else "",
        "tested": len(letters) == len(ranked) > 1,
        "baseline": {"system": other, "mean": f"{ranked[measure][other]:.4f}"} if other else None,
    }
