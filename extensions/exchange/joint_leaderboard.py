"""The leaderboard of many folders of results, by different people, each audited before its rows are shown.

``leaderboard/index.html`` has the leaderboard of the report with a row a system and folder, and what the audit of each folder
found; ``leaderboard/leaderboard.csv`` the same numbers. A folder whose manifest or signature is not right is refused whole. A
result that a failed check is about is left out, and so is one on other data than that of the first folder with its dataset.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.audit.audit import SEED_BITS, Sections, run_checks
from beirflow.audit.chain import in_words
from beirflow.audit.checks import EVERYTHING, FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check
from beirflow.audit.manifest import Published
from beirflow.audit.repairs import Call
from beirflow.audit.verdict import grades, not_checked, verdict_line
from beirflow.config.experiment import Experiment
from beirflow.config.from_manifest import experiment_of, unknown_in
from beirflow.config.readers import in_domain
from beirflow.core import layout
from beirflow.core.csv_files import write_csv
from beirflow.core.errors import DataError
from beirflow.evaluation.summary import TrainedOn, kept_self_matches, summary_table
from beirflow.extensions.exchange.gate import Side, same_data
from beirflow.extensions.exchange.layout import LEADERBOARD, LEADERBOARD_TABLE
from beirflow.report.leaderboard import notes, scores_table
from beirflow.report.pages import Table, framed, texts, write_page

SHOWN = 3  # failed checks that are named of a folder
LONGEST = 200  # characters of each; ``snakemake -- audit`` says everything


@dataclass(frozen=True)
class ResultsFolder:
    """A folder of results, and what its authors published of it."""

    path: Path  # the folder
    name: str  # its name on the leaderboard; that of the folder unless stated
    published: Published  # digest or signature of its manifest

    @classmethod
    def of(cls, entry: str | Mapping[str, Any]) -> "ResultsFolder":
        """Read an entry of ``folders``: a path, or its attributes with those of :class:`Published`."""
        known: dict[str, Any] = {"path": entry} if isinstance(entry, str) else dict(entry)
        path = Path(known.pop("path")).expanduser()
        return cls(path, known.pop("name", None) or path.absolute().name, Published(**known))


@dataclass
class Verified:
    """The findings of the audit of a folder."""

    folder: ResultsFolder  # the folder
    written: str = ""  # when the results were written, by their own statement; empty if unknown
    line: str = ""  # the steps of the audit
    level: str = ""  # the same in words: what was compared, and what was not
    not_compared: list[str] = field(default_factory=list)  # kinds of facts that were not compared
    # who signed the manifest, or how its digest was checked
    identity: str = "unknown: neither published digest nor signature given"
    problems: list[str] = field(default_factory=list)  # findings, and why the folder or a result is left out
    side: Side | None = None  # its results; None if it is refused
    sound: list[tuple[str, str, list[str]]] = field(default_factory=list)  # system, dataset and corpora of those to show
    affected: set[tuple[str, str]] = field(default_factory=set)  # systems and datasets that failed checks are about
    # by system and dataset, what was not compared of them
    unchecked: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    trained_on: TrainedOn = field(default_factory=dict)  # training data of its systems

    @property
    def verdict(self) -> str:
        """``refused``, ``marked`` where something was found, or how far the audit followed the results."""
        return "refused" if self.side is None else "marked" if self.problems else self.level

    def verdict_on(self, system: str, dataset: str) -> str:
        """Return the verdict with what was not compared of a result."""
        left = self.unchecked.get((system, dataset), [])
        return f"{self.verdict}; not compared: {', '.join(left)}" if left else self.verdict


def collect_folders(
    *,
    folder: str,
    folders: Sequence[str | Mapping[str, Any]],
    experiment: Experiment,
    main_measure: str,
    sample: int,
    seed: int | None = None,
    codes: Mapping[str, str | None] | None = None,
) -> str:
    """Audit every folder of the entries ``folders``, and write the leaderboard of all into ``folder``.

    A ``sample`` of so many documents and queries of each corpus is made again, drawn by ``seed``, or by chance if None; ``codes``
    are the digests of code by rule, None where they are not known. Returns the verdict on every folder, for the terminal. Raises
    DataError if no folder is named, two have one name, or none can be shown.
    """
    named = [ResultsFolder.of(entry) for entry in folders]
    if not named:
        raise DataError("no folder is named; name folders of results: beirflow leaderboard /results/of-a /results/of-b")
    if twice := {each.name for each in named if [other.name for other in named].count(each.name) > 1}:
        raise DataError(f"{', '.join(sorted(twice))} is the name of two folders; give each a name: {{path: …, name: …}}")
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    verified = [_verify(each, experiment, sample, seed, Call(codes=codes or {})) for each in named]
    tables = [part for each in verified if (part := _rows(each, verified, main_measure)) is not None]
    words = "\n".join(f"{each.folder.name}: {each.verdict}{''.join(f'; {why}' for why in each.problems)}" for each in verified)
    if not tables:
        raise DataError(f"no folder has a result that can be shown\n{words}")
    summary = pd.concat(tables, ignore_index=True)
    page, table = (Path(folder) / path for path in (LEADERBOARD, LEADERBOARD_TABLE))
    page.parent.mkdir(parents=True, exist_ok=True)
    write_csv(summary, table)
    values = {
        "title": f"Leaderboard of {len(verified)} folders",
        "tables": [replace(scores_table(summary, main_measure), name="scores"), _folders_table(verified)],
        "notes": notes(summary, marked=False, baseline=""),
    }
    write_page("leaderboard.html.j2", page, values, scripts=["tables.js"])
    return f"{words}\nLeaderboard: {page}"


def _verify(folder: ResultsFolder, experiment: Experiment, sample: int, seed: int, call: Call) -> Verified:
    """Audit a folder; what cannot be read is refused."""
    verified = Verified(folder)
    try:
        chain, sections = run_checks(folder.path, experiment, sample, seed, call=call, published=folder.published)
    except UNREADABLE as error:
        verified.problems.append(f"{folder.path}: {in_words(error)}")
        return verified
    manifest = chain.manifest
    failed = [
        check
        for checks in sections.values()
        for check in checks
        if check.status == FAILED or not (manifest or check.status == PASSED)
    ]
    causes = [check for check in failed if not check.cause]
    verified.problems += [_said(check) for check in causes[:SHOWN]] + [f"and {len(causes) - SHOWN} others"] * (
        len(causes) > SHOWN
    )
    steps = grades(sections)
    verified.line, verified.level, verified.not_compared = verdict_line(steps), level_of(steps), not_checked(sections)
    verified.affected = {result for check in failed for result in check.results}
    for check in (check for checks in sections.values() for check in checks if check.status == NOT_CHECKED):
        for result in check.results:
            verified.unchecked[result] = list(dict.fromkeys([*verified.unchecked.get(result, ()), check.name]))
    verified.identity = _identity(sections) or verified.identity
    if manifest and EVERYTHING not in verified.affected:
        side = Side(folder.path, manifest)
        try:
            verified.sound, verified.written = [*_sound(side, verified.affected)], str(manifest["written"])
            verified.trained_on, verified.side = _training(experiment, manifest), side
        except UNREADABLE as error:  # a manifest that was written by others may lack anything
            verified.problems.append(f"{folder.path} cannot be shown: {in_words(error)}")
    return verified


def _training(experiment: Experiment, manifest: Mapping[str, Any]) -> TrainedOn:
    """Return the training data of the systems of a manifest; none if nothing here knows the family of one."""
    if any(map(unknown_in, manifest["systems"].values())):
        return {}
    return in_domain(experiment_of(manifest, {}, experiment))


def _said(check: Check) -> str:
    found = f"{check.name}: {check.found}{f'; expected: {check.expected}' if check.expected else ''}"
    return found if len(found) <= LONGEST else f"{found[:LONGEST]}…"


def _identity(sections: Sections) -> str:
    known = ("the manifest is the one that was published", "the manifest is signed")
    return "; ".join(check.found for check in sections["chain"] if check.name in known and check.status == PASSED)


def _rows(verified: Verified, all_: Sequence[Verified], main_measure: str) -> pd.DataFrame | None:
    """Return the summary of the results of a folder that can be shown; None without any."""
    if verified.side is None:
        return None
    try:
        paths = list(_shown_means(verified, verified.side, all_))
        if not paths:
            return None
        kept = kept_self_matches(verified.side.manifest["datasets"])
        table = summary_table(paths, main_measure, verified.trained_on, kept)
    except UNREADABLE as error:  # a manifest that was written by others may lack anything
        verified.problems.append(f"{verified.folder.path} cannot be shown: {in_words(error)}")
        verified.side = None
        return None
    verdicts = [verified.verdict_on(*result) for result in zip(table["system"], table["dataset"], strict=True)]
    table["system"] += f" ({verified.folder.name})"
    return table.assign(folder=verified.folder.name, verdict=verdicts)


def _shown_means(verified: Verified, side: Side, all_: Sequence[Verified]) -> Iterator[str]:
    """Yield the means that no failed check is about, on the data of the first folder that has such a mean of their dataset."""
    for system, row, corpora in verified.sound:
        first, others = next((each.side, names) for each in all_ for _, name, names in each.sound if each.side and name == row)
        try:
            # Scores on other documents or judgements in one column would look comparable.
            if corpora != others:
                raise DataError(f"{row} has the corpora {', '.join(others)} here and {', '.join(corpora)} there")
            for corpus in corpora:
                same_data(first, side, corpus)
        except UNREADABLE as error:
            verified.problems.append(f"{system} on {row} is left out: {in_words(error)}")
            continue
        yield str(side.folder / layout.METRICS(system=system, dataset=row))


def _sound(side: Side, affected: set[tuple[str, str]]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield system, dataset and corpora of the results of a folder that no failed check is about."""
    for system in side.systems:
        for row, corpora in side.rows(system).items():
            if not {(system, row), *((system, corpus) for corpus in corpora)} & affected:
                yield system, row, corpora


def _folders_table(verified: Sequence[Verified]) -> Table:
    facts = {name: [getattr(each, name) for each in verified] for name in ("verdict", "written", "identity")}
    facts |= {"audit": [each.line for each in verified], "found": ["; ".join(each.problems) for each in verified]}
    facts["not_compared"] = [
        "; ".join(each.not_compared[:SHOWN]) + f"; and {len(each.not_compared) - SHOWN} others" * (len(each.not_compared) > SHOWN)
        for each in verified
    ]
    frame = pd.DataFrame({"folder": [each.folder.name for each in verified], **facts})
    columns = {
        **texts(folder="Folder", verdict="Verdict", written="Written"),
        **texts("prose", identity="Identity", audit="Audit", found="Found", not_compared="Not compared"),
    }
    return framed("Folders", "What was checked of each folder", frame, columns, name="folders")


def level_of(steps: Sequence[tuple[str, str]]) -> str:
    """Summarise the steps in words; "not" or "partly" precedes those that were not done."""
    grade_of = dict(steps)
    words = [f"not {step}" for step in ("intact", "as configured", "replayed") if grade_of[step] != "yes"] or ["replayed"]
    further = {step: grade_of[step] for step in ("traced to sources", "sampled")}
    words += [step if grade == "yes" else f"{'not' if grade == 'no' else 'partly'} {step}" for step, grade in further.items()]
    return ", ".join(words)
