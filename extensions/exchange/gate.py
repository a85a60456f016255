"""The gate: has a configured system become worse than a baseline by more than a tolerance?

A build asks it after a change of a model, a prompt or a library. Each system has one of three verdicts on each dataset:

- worse: its mean is below that of the baseline by more than ``tolerance``, and the paired randomisation test of
  :mod:`beirflow.evaluation.significance` has p below 0.05 after Holm's correction for all comparisons of the gate;
- not worse: the upper confidence bound of the loss is at most ``tolerance`` (non-inferiority);
- undecided: neither is shown.

The bound, and the smallest difference that would be detected, are at the level that Bonferroni's correction leaves for one of the
comparisons, 0.05 over their number, which is that of the first step of Holm's. What is worse fails, and so does a dataset that is
missing, or has other documents, judgements or queries on the other side; ``undecided`` says whether undecided comparisons fail.
``gate.json`` has every comparison.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, UNREADABLE
from beirflow.audit.folder.reading import part, read_record
from beirflow.audit.manifest import Published, check_published_digest
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError, DataError, VerdictError
from beirflow.core.records import read_json, write_json
from beirflow.data.corpus_files import EXCLUDED_ROWS, read_table, relevant_from
from beirflow.evaluation.paired_tests import (
    LEVEL,
    ROUNDING,
    confidence_interval,
    detectable_difference,
    holm,
    randomisation_test,
)
from beirflow.evaluation.scores import read_per_query
from beirflow.extensions.exchange.gate_files import (
    LOST,
    NOT_COMPARABLE,
    NOT_WORSE,
    UNDECIDED,
    WORSE,
    footnotes,
    write_comment,
    write_junit,
)
from beirflow.extensions.exchange.gate_settings import GateSettings
from beirflow.extensions.exchange.layout import GATE, GATE_COMMENT, GATE_JUNIT
from beirflow.report.analysis.document_scan import query_texts


@dataclass
class Comparison:
    """A system compared with the baseline on a dataset; numbers are None where it is not comparable."""

    system: str  # name of the system
    dataset: str  # name of the dataset
    against: str  # name of the baseline's system
    status: str = UNDECIDED  # the verdict
    reason: str = ""  # why, in a sentence; empty if it is not worse
    queries: int | None = None  # number of queries
    mean: float | None = None  # of the system
    baseline_mean: float | None = None  # of the baseline
    difference: float | None = None  # the first minus the second
    low: float | None = None  # lower end of the 95 % interval of the difference
    high: float | None = None  # upper end
    p: float | None = None  # of the two-sided test
    p_holm: float | None = None  # the same, corrected
    # upper confidence bound of the loss, at the level that the correction leaves; None if nothing is known of the spread
    loss_bound: float | None = None
    detectable: float | None = None  # smallest difference that would be found at this level with a power of 80 %
    # queries that lost most, each with ``corpus``, ``query``, ``text``, ``here`` and ``there``
    lost: list[dict[str, Any]] = field(default_factory=list)


class Side(NamedTuple):
    """Results of one side of the gate."""

    folder: Path  # where they are
    manifest: Mapping[str, Any]  # their manifest

    def rows(self, system: str) -> dict[str, list[str]]:
        """Return, by dataset of which there is a mean of a system, the names of its corpora."""
        datasets = part(self.manifest, "datasets", kind=dict)
        return {row: [corpus["name"] for corpus in datasets.get(row, ())] for each, row in self._means() if each == system}

    @property
    def systems(self) -> list[str]:
        """Systems that have a mean."""
        return list(dict(self._means()))

    def drops_self_matches(self, corpus: str) -> bool:
        """Test whether the document with the id of a query is left out of its ranking, as it is unless the manifest says no."""
        rows = part(self.manifest, "datasets", kind=dict).values()
        return all(each.get("drop_self_matches", True) for row in rows for each in row if each["name"] == corpus)

    def _means(self) -> list[tuple[str, str]]:
        """Return the systems and datasets that have a mean."""
        return layout.METRICS.pairs_in(part(self.manifest, "inputs", kind=dict))

    def values(self, system: str, row: str, corpus: str, measure: str) -> pa.Table:
        """Return the values of every query on a corpus, ``query_id`` and ``value``, if they are those of the manifest."""
        mean, path = layout.METRICS(system=system, dataset=row), layout.METRICS(system=system, dataset=corpus)
        self._verify(mean, part(self.manifest, "inputs", mean))
        if path != mean:
            self._verify(path, part(read_record(self.folder / mean), "inputs", path))
        data = layout.CORPUS(dataset=corpus)  # which says the documents and judgements of this side
        self._verify(data, part(read_record(self.folder / path), "inputs", data))
        per_query = layout.PER_QUERY(system=system, dataset=corpus)
        _, table = read_per_query(str(self.folder / path), str(self.folder / per_query))
        if measure not in table.column_names:
            there = ", ".join(name for name in table.column_names if name.partition("@")[0] == measure.partition("@")[0])
            raise DataError(f"{self.folder} has no {measure}, but {there or 'no such measure'}; add its cutoff to cutoffs")
        values = table.select(["query_id", measure]).rename_columns(["query_id", "value"]).drop_null()
        if not values.num_rows or not np.isfinite(values["value"].to_numpy()).all():
            raise DataError(f"{self.folder / per_query}: {measure} has no value, or one that is no finite number")
        return values

    def _verify(self, path: str, expected: Any) -> None:
        if (digest := file_digest(self.folder / path)) != expected:
            raise DataError(f"{self.folder / path} has the sha256 {digest}, but what was made from it says {expected}")


def check_gate(*, folder: str, gate: GateSettings, systems: Sequence[str]) -> str:
    """Compare the configured systems with the baseline, and write ``gate.json``, ``gate.xml`` (JUnit) and ``gate.md``.

    Returns the table for a terminal. Raises DataError if the baseline cannot be read, and VerdictError, once everything has been
    written, if a system is worse or not comparable, or undecided where that fails.
    """
    for name in (GATE, GATE_JUNIT, GATE_COMMENT):
        (Path(folder) / name).unlink(missing_ok=True)  # a gate that ends in an error must not leave an earlier verdict
    here = Side(Path(folder), read_json(Path(folder) / layout.MANIFEST))
    there = here if gate.baseline in systems else _baseline(gate, here.folder)
    compared = [each for system in systems if system != gate.baseline for each in _compare(here, there, system, gate)]
    level = LEVEL / max(1, sum(bool(differences) for _, differences in compared))
    _decide(compared, gate, level)
    comparisons = [comparison for comparison, _ in compared]
    found, fail = {each.status for each in comparisons}, {WORSE, NOT_COMPARABLE}
    if gate.undecided == "fail":
        fail.add(UNDECIDED)
    report = {
        "verdict": "failed" if found & fail else "undecided" if UNDECIDED in found else "passed",
        **asdict(gate),
        "alpha": LEVEL,
        "level": level,
        "baseline_manifest_sha256": file_digest(there.folder / layout.MANIFEST),
        "baseline_trusted": "" if there is here else _trusted(gate),
        "comparisons": [asdict(each) for each in comparisons],
    }
    write_json(here.folder / GATE, report)
    write_junit(here.folder / GATE_JUNIT, report)
    inspections = here.folder.glob(layout.INSPECTION(dataset="*"))
    shown = {(path.stem, query["id"]) for path in inspections for query in read_json(path)["queries"]}
    write_comment(here.folder / GATE_COMMENT, report, shown)
    words = for_terminal(report, folder)
    if report["verdict"] == "failed":
        raise VerdictError(words)
    return words


def _trusted(gate: GateSettings) -> str:
    """Say how far the folder of a baseline was checked."""
    known = gate.manifest_sha256 or gate.manifest_signature
    origin = "is the published one" if known else "was taken as it is: give manifest_sha256 or manifest_signature"
    return (
        f"The baseline's manifest {origin}. Its measures have the digests that lead there from the manifest; whether they follow"
        " from its runs was not computed again, which `beirflow audit` does."
    )


def _baseline(gate: GateSettings, results: Path) -> Side:
    """Open the baseline's folder, if it is the one that was published, and not that of the results."""
    folder = Path(gate.baseline).expanduser()
    try:
        manifest = read_record(folder / layout.MANIFEST)
        published = Published(gate.manifest_sha256, gate.manifest_signature, gate.allowed_signers)
        checks = check_published_digest(Chain(folder, manifest), published)
    except UNREADABLE as error:
        problem = f"gate.baseline is {gate.baseline}, neither a configured system nor a folder of results"
        raise DataError(f"{problem}: {folder / layout.MANIFEST} cannot be read ({error})") from error
    if wrong := next((check for check in checks if check.status == FAILED), None):
        raise DataError(f"gate.baseline: {wrong.found}; expected {wrong.expected}")
    if folder.resolve() == results.resolve():
        raise DataError(
            f"gate.baseline is {folder}, these results themselves; copy those of the baseline to a folder of their own"
        )
    return Side(folder, manifest)


def _compare(here: Side, there: Side, system: str, gate: GateSettings) -> Iterator[tuple[Comparison, list[np.ndarray]]]:
    """Compare a system on every dataset that either side has.

    Yields the comparison, without a verdict if it is comparable, and the differences of the queries by corpus, none if it is not.
    """
    other = gate.baseline if there is here else gate.system or (system if system in there.systems else "")
    # A folder with one system leaves no choice, whatever it is called there.
    if not other and len(there.systems) == 1:
        other = there.systems[0]
    mine, theirs = here.rows(system), there.rows(other) if other in there.systems else {}
    for row in [*mine, *(row for row in theirs if row not in mine)]:
        comparison, differences = Comparison(system, row, other), list[np.ndarray]()
        if row not in mine or row not in theirs:
            side, name = (here, system) if row not in mine else (there, other or system)
            comparison.reason = f"{side.folder} has no {name} on {row}; it has {', '.join(side.systems)}"
        elif mine[row] != theirs[row]:
            comparison.reason = f"{row} has the corpora {', '.join(mine[row])} here and {', '.join(theirs[row])} there"
        else:
            try:
                differences = _measure(comparison, here, there, mine[row], gate.measure)
            except (BeirflowError, *UNREADABLE) as error:
                comparison.reason = str(error)
        if comparison.reason:
            comparison.status = NOT_COMPARABLE
        yield comparison, differences


def _measure(comparison: Comparison, here: Side, there: Side, corpora: Sequence[str], measure: str) -> list[np.ndarray]:
    """Fill in the numbers of a comparison, but for those at a level that depends on the others.

    Returns the differences of the queries by corpus. Raises DataError if the sides are not comparable.
    """
    system, row, other = comparison.system, comparison.dataset, comparison.against
    strata, pairs = [], []
    for corpus in corpora:
        if here is not there:
            same_data(here, there, corpus)
        one, two = here.values(system, row, corpus, measure), there.values(other, row, corpus, measure)
        if one["query_id"] != two["query_id"]:
            raise DataError(f"{corpus} was evaluated on other queries there")
        strata.append((one["value"].to_numpy(), two["value"].to_numpy()))
        pairs += [
            (corpus, *values) for values in zip(one["query_id"].to_pylist(), *map(np.ndarray.tolist, strata[-1]), strict=True)
        ]
    differences = [mine - theirs for mine, theirs in strata]
    weights = np.concatenate([np.full(len(part), 1 / (len(strata) * len(part))) for part in differences])
    comparison.queries = len(weights)
    comparison.mean, comparison.baseline_mean = (float(np.mean([pair[side].mean() for pair in strata])) for side in (0, 1))
    comparison.difference = comparison.mean - comparison.baseline_mean
    comparison.low, comparison.high = map(_number, confidence_interval(differences))
    comparison.p = float(randomisation_test((weights * np.concatenate(differences))[:, None])[0])
    worst = sorted((pair for pair in pairs if pair[2] < pair[3]), key=lambda pair: pair[2] - pair[3])[:LOST]
    texts = {corpus: query_texts(here.folder / layout.QUERIES(dataset=corpus)) for corpus in {pair[0] for pair in worst}}
    comparison.lost = [
        {"corpus": corpus, "query": query, "text": texts[corpus].get(query, ""), "here": mine, "there": theirs}
        for corpus, query, mine, theirs in worst
    ]
    return differences


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def same_data(here: Side, there: Side, corpus: str) -> None:
    """Refuse, with a :class:`DataError`, sides with other documents, another split, other queries or judgements of a corpus."""
    path = layout.CORPUS(dataset=corpus)
    one, two = (read_record(side.folder / path) for side in (here, there))
    if part(one, "split") != part(two, "split"):
        raise DataError(f"{corpus} has the split {one['split']} here and {two['split']} there")
    documents = layout.DOCUMENTS(dataset=corpus)
    # The bytes of equal documents depend on chunks, and the texts of one source on the fields that are read of it.
    same_texts = all(part(one, key) == part(two, key) for key in ("source_sha256", "characters"))
    if not same_texts and part(one, "outputs", documents) != part(two, "outputs", documents):
        raise DataError(f"{corpus} has other documents there: {path} names other files")
    for pattern, what in ((layout.QUERIES, "queries"), (layout.QRELS, "judgements")):
        name = pattern(dataset=corpus)
        if part(one, "outputs", name) != part(two, "outputs", name):
            mine, theirs = (read_table(side.folder / name) for side in (here, there))
            # Rows in the file of documents depend on chunks; the next column has the ids.
            mine, theirs = (table.drop_columns({EXCLUDED_ROWS} & {*table.column_names}) for table in (mine, theirs))
            if not mine.equals(theirs) or relevant_from(mine) != relevant_from(theirs):
                raise DataError(f"{corpus} has other {what} there: {name} differs")
    if here.drops_self_matches(corpus) != there.drops_self_matches(corpus):
        raise DataError(f"{corpus}: a query may find the document of its own id on one side only (drop_self_matches)")


def _decide(compared: Sequence[tuple[Comparison, list[np.ndarray]]], gate: GateSettings, level: float) -> None:
    """Correct the p values for the number of comparisons, and give the verdicts; ``level`` is what one comparison has."""
    measured = [(each, differences) for each, differences in compared if differences]
    corrected = holm(np.array([each.p for each, _ in measured], dtype=np.float64))
    for (each, differences), p in zip(measured, corrected, strict=True):
        each.p_holm = float(p)
        each.detectable = _number(detectable_difference(differences, 1 - level))
        low, _ = confidence_interval(differences, 1 - level)
        # A build that changed no query has lost nothing, however few these are.
        each.loss_bound = _number(-low) if any(part.any() for part in differences) else 0.0
        loss = -float(each.difference or 0)
        if loss > gate.tolerance + ROUNDING and p < LEVEL:
            each.status = WORSE
            each.reason = f"{gate.measure} is {loss:.4f} below the baseline's, p {p:.2g}; {gate.tolerance:g} is allowed"
        elif each.loss_bound is not None and each.loss_bound <= gate.tolerance + ROUNDING:
            each.status = NOT_WORSE
        else:
            each.reason = _why_undecided(each, gate)


def _why_undecided(each: Comparison, gate: GateSettings) -> str:
    """Say why a comparison is undecided, and whether a loss of the tolerance could have been seen at all."""
    if each.loss_bound is None:
        return f"a corpus has a single query, from which nothing follows for others; {gate.tolerance:g} is allowed"
    reason = f"the loss of {gate.measure} may be as large as {each.loss_bound:.4f}; {gate.tolerance:g} is allowed"
    if each.detectable is None or each.detectable <= gate.tolerance:
        return reason
    return f"{reason}, which these queries could not show: they show a loss of {each.detectable:.4f} with a power of 80 %"


def for_terminal(report: Mapping[str, Any], folder: str) -> str:
    """Return the table of a gate, from ``gate.json``."""
    comparisons = report["comparisons"]
    names = [f"{each['system']} on {each['dataset']}" for each in comparisons]
    width = max(map(len, names))
    lines = [f"gate {report['verdict']}: {report['measure']} against {report['baseline']}, tolerance {report['tolerance']:g}"]
    lines.append(f"{'':{width}}  {'here':>7} {'baseline':>8} {'Δ':>8} {'p':>7} {'loss up to':>10} {'min. detectable':>15}")
    for name, each in zip(names, comparisons, strict=True):
        if each["mean"] is None:
            lines.append(f"{name:{width}}  {each['reason']}")
            continue
        bound, detectable = ("-" if each[key] is None else f"{each[key]:.4f}" for key in ("loss_bound", "detectable"))
        means = f"{each['mean']:7.4f} {each['baseline_mean']:8.4f} {each['difference']:+z8.4f} {each['p_holm']:7.2g}"
        lines.append(f"{name:{width}}  {means} {bound:>10} {detectable:>15}  {each['status']}")
    trusted = [report["baseline_trusted"]] if report["baseline_trusted"] else []
    files = f"Everything: {folder}/{GATE_COMMENT}, {GATE_JUNIT} and {GATE}"
    return "\n".join([*lines, *footnotes(report), *trusted, files])
