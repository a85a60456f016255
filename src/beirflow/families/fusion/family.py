"""The family of fused systems, as the experiment sees it."""

import math

from beirflow.core import layout
from beirflow.core.layout import RUN, RUN_RECORD
from beirflow.core.patterns import Pattern
from beirflow.families.family import Family, Reads, TunedOn
from beirflow.families.fusion.settings import STEP, FusionSettings
from beirflow.families.stage import QUERIES, First, Question, Stage, Task, own, run_settings, top_k
from beirflow.families.system import Setting

MOST_POINTS = 5000  # maximum number of points of a grid, each of which is ranked and measured


def tuning(pattern: Pattern) -> Question:
    """Ask for such files of the corpus that weights are tuned on; there are none if the weights are stated."""

    def files(task: Task) -> list[str]:
        """Return the files of the tuning corpus."""
        on = task.experiment.tuned_on(*task.about)
        there = Task(task.experiment, {**task.wildcards, "dataset": on})
        return [] if on is None else there.files_of_first_stages(pattern) if isinstance(pattern, First) else there.files(pattern)

    return files


class FusionFamily(Family):
    """Systems that combine the runs of others."""

    name = "fusion"
    settings = FusionSettings
    direct = True
    own_candidates = True
    answers = "beirflow.families.fusion.answers:open_answers"
    stages = (
        Stage(
            "fuse_runs",
            "beirflow.families.fusion.fuse_runs:fuse_runs",
            "fuse the runs of {wildcards.system} on {wildcards.dataset}",
            reads={
                **QUERIES,
                "runs": First(RUN),
                "tuning_runs": tuning(First(RUN)),
                "tuning_run_records": tuning(First(RUN_RECORD)),
                "tuning_queries": tuning(layout.QUERIES),
                "tuning_qrels": tuning(layout.QRELS),
                "tuning_corpus": tuning(layout.CORPUS),
            },
            makes={"run": RUN},
            params={
                "settings": own(),
                "tuned_on": lambda task: task.experiment.tuned_on(*task.about),
                "main_measure": lambda task: task.experiment.main_measure if task.experiment.tuned_on(*task.about) else "",
                "top_k": top_k,
                "run_settings": run_settings,
            },
            makers={"measure": "beirflow.evaluation.measures:measure"},
        ),
    )

    def problem(self, settings: FusionSettings) -> Setting | None:
        """Return a setting that would be ignored, or weights of other systems."""
        only_of = (("k", settings.k, "rrf"), ("normalize", settings.normalize, "sum"), ("weights", settings.weights, "sum"))
        for key, value, method in only_of:
            if value is not None and settings.method != method:
                return Setting(key, value, f"method {settings.method} has no {key}; remove it, or choose method: {method}")
        if settings.tune is not None:
            step, others = settings.tune.get("step", STEP), len(settings.of) - 1
            tried = math.comb(round(1 / step) + others, others)
            if tried > MOST_POINTS:
                grid = f"these are {tried:,} weights of {len(settings.of)} systems"
                return Setting("weights.tune.step", step, f"{grid}, and at most {MOST_POINTS:,} are allowed; raise it")
        elif settings.weights is not None and len(settings.weights) != len(settings.of):
            expected = f"expected one number for each of {', '.join(settings.of)}, in this order"
            return Setting("weights", settings.weights, expected)
        return None

    def learns(self, settings: FusionSettings) -> bool:
        """Deny it: only runs are read, and tuned weights are noted by dataset."""
        return False

    def reads_query_lists(self, settings: FusionSettings) -> bool:
        """Test whether a query may be a list of texts: only the runs of others are read, which are checked themselves."""
        return True

    def reads(self, settings: FusionSettings) -> Reads:
        """Return the systems whose runs are fused."""
        return Reads({f"of.{place}": name for place, name in enumerate(settings.of)}, settings.depth)

    def tuned_on(self, settings: FusionSettings) -> TunedOn | None:
        """Return the split or the dataset on whose queries the weights are tuned."""
        if settings.tune is None:
            return None
        key = "split" if "split" in settings.tune else "dataset"
        return TunedOn(f"weights.tune.{key}", **{key: settings.tune[key]})


FAMILY = FusionFamily()
