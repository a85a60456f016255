"""The runs behind results: values under the conventions of a source, and the conventions that explain a difference."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from beirflow.core.layout import METRICS, QRELS, RUN, record_of
from beirflow.core.records import output_digest, read_json
from beirflow.data.catalogue.catalogue import Reference
from beirflow.data.corpus_files import read_table
from beirflow.evaluation.conventions import differ, measure_under
from beirflow.evaluation.evaluate import CONVENTIONS
from beirflow.evaluation.scores import read_means
from beirflow.extensions.explain.variations import Variations
from beirflow.ranking.run_file import read_run
from beirflow.ranking.searched import SELF_MATCHES

Means = Mapping[str, Any]  # a record of metrics


class Runs:
    """The runs in a folder of results."""

    def __init__(self, results: Path) -> None:
        self._results = results

    def under_conventions(self, reference: Reference, means: Means) -> float | None:
        """Return our value of a printed one under the conventions of its source; None if its measure was not computed.

        Records have it for published scores of the catalogue; for others, the run is evaluated again.
        """
        conventions, measure = reference.conventions, reference.computed
        recorded = means.get(CONVENTIONS, {}).get(conventions, {})
        if not differ(conventions) or measure in recorded or measure not in means["measures"]:
            return reference.ours(means)
        if forums := means.get("forums"):
            of_forums = (read_means(str(self._results / METRICS(system=means["system"], dataset=each))) for each in forums)
            values = [self.under_conventions(reference, each) for each in of_forums]
            return sum(each for each in values if each is not None) / len(values)
        run, qrels, own = self._read(means)
        return measure_under(conventions, run, qrels, [measure], own)[measure]

    def cause(self, reference: Reference, means: Means) -> str:
        """Return the conventions that alone lead to a printed value, as ``beirflow explain`` finds them, or that none does."""
        if "forums" in means:
            return "a mean over forums, whose values are explained alone"
        measure, (run, qrels, own) = reference.computed, self._read(means)
        varied = Variations(run, qrels, own, [measure]).of_the_run({*own})
        apart = {how: abs(each[measure] - reference.value) for how, each in varied}
        close = [how for how in apart if apart[how] <= reference.tolerance(means["precisions"])]
        nearest = "; ".join(sorted(close, key=apart.__getitem__))
        return f"equal with: {nearest}" if close else "no convention that `beirflow explain` varies explains it alone"

    def _read(self, means: Means) -> tuple[pa.Table, pa.Table, Mapping[str, float]]:
        """Return the run and the judgements of a result, and the scores of self matches by query."""
        path = str(self._results / RUN(system=means["system"], dataset=means["dataset"]))
        record = read_json(record_of(path))
        run = read_run(path, output_digest(record, path), str(record_of(path)))
        return run, read_table(str(self._results / QRELS(dataset=means["dataset"]))), record.get(SELF_MATCHES, {})
