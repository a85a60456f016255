"""Targets of the workflow: their list, the closest one to an unknown target, and the summary of a run with nothing to do."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePath

from beirflow.config.experiment import Experiment
from beirflow.config.trial import TRIAL
from beirflow.core.errors import some
from beirflow.core.extensions import command_targets, extensions
from beirflow.core.kinds import PATTERNS
from beirflow.core.layout import REPORT, SUMMARY
from beirflow.core.patterns import Pattern
from beirflow.data.catalogue.schema import nearest
from beirflow.report.registry import functions

WORDS = {Pattern(word): entry for extension in extensions() for word, entry in extension.targets.items()}
"""By word of an extension, which may have names of known things in braces, the file that it makes and its description."""


def overview(*, experiment: Experiment, results: Path, configured: str = "") -> str:
    """Return the targets with their results, for the terminal; ``configured`` are the options that name the configuration."""
    systems, rows, targets = list(experiment.chosen_systems), list(experiment.chosen_rows), target_words(results)
    width = max(map(len, targets))
    return "\n".join(
        [
            f"This configuration has {_named(systems, 'system')} and {_named(rows, 'dataset')}. Name a target, as in",
            f"  snakemake --cores all{configured} -- summary",
            *(f"  {target:{width}}  {made}" for target, made in targets.items()),
            "Choose others with --config systems=bm25 datasets=scifact, or in a file: --configfile my.yaml",
        ]
    )


def target_words(results: Path) -> dict[str, str]:
    """Return the named targets with descriptions, but for words that have names in braces."""
    return {
        "try": "every system on 24 documents, before hours of work",
        "estimate": "time, downloads and disk space, before anything runs",
        "summary": f"every system on every dataset: {results / SUMMARY}",
        "report": f"tables, figures, significance: {results / REPORT}",
        **{word: f"{made}: {results / path}" for word, (path, made) in WORDS.items() if "{" not in word},
        "audit": f"checks; also {', '.join(command_targets())}; more: docs/targets.md",
    }


def next_step(targets: Collection[str], results: Path, configured: str) -> str:
    """Return the path of the report or the summary and the next command, for the end of a run that made it; else nothing."""
    if results.name == TRIAL:
        return ""  # the trial prints the next command itself
    if {*targets} & {"report", str(results / REPORT)}:
        return f"Report: {(results / REPORT).absolute()}\nTo check every number: snakemake --cores 1{configured} -- audit"
    if {*targets} & {"summary", str(results / SUMMARY)}:
        return f"For tables, figures and significance: snakemake --cores all{configured} -- report"
    return ""


def _named(names: Sequence[str], kind: str) -> str:
    return f"{len(names)} {kind}{'s' * (len(names) != 1)} ({some(names)})"


def is_made(target: str, results: str, experiment: Experiment) -> bool:
    """Test whether a target is a word of an extension, or a file of results of known systems and datasets that rules make."""
    folder, known = f"{PurePath(results)}/", _known(experiment)
    path, patterns = (target.removeprefix(folder), PATTERNS) if target.startswith(folder) else (target, WORDS)
    return any(_near(path, pattern, known) == path for pattern in patterns)


def closest_target(target: str, results: str, experiment: Experiment, rules: Collection[str]) -> str:
    """Return ``; did you mean 'x'?`` with the closest target to an unknown one; empty if none is close.

    For a setting or an option after ``--``, return the advice to move it before.
    """
    if target.startswith("--") or "=" in target:
        return "; after -- there are only targets: write options before it, snakemake --config … -- summary, or leave -- out"
    folder, known = f"{PurePath(results)}/", _known(experiment)
    path = PurePath(target.removeprefix(folder))
    first, *rest = path.parts
    near_first = get_close_matches(first, sorted({pattern.partition("/")[0] for pattern in PATTERNS if "/" in pattern}))
    tried = [path, *(path.with_suffix(suffix) for suffix in ("", ".svg", ".csv", ".json", ".html"))]
    tried += [PurePath(each, *rest) for each in near_first]
    # Perhaps the user is mistaken about the folder of the results.
    tried += [PurePath(*path.parts[start:]) for start in range(1, len(path.parts))]
    found = {f"{folder}{near}" for each in tried for pattern in PATTERNS if (near := _near(str(each), pattern, known))}
    if found:
        return "" if target in found else nearest(target, found) or f"; did you mean {min(found)!r}?"
    words = (near for word in WORDS if (near := _near(target, word, known)))
    return nearest(target, [*(f"{folder}{pattern}" for pattern in PATTERNS if "{" not in pattern), *rules, *words])


def _known(experiment: Experiment) -> dict[str, list[str]]:
    """Return the possible values of each name in a pattern."""
    known = {
        "system": list(experiment.systems),
        "dataset": [*experiment.datasets, *experiment.rows_of_forums],
        "row": list(experiment.rows_of_forums),
        "archive": list(experiment.catalogue.datasets),
        "analyzer": sorted(experiment.expansions.indexes),
        "table": [*functions("table")],
        "figure": [*functions("figure")],
    }
    for name, values in (entry for extension in extensions() for entry in extension.names.items()):
        known[name] = [*known.get(name, ()), *values(experiment)]
    return known


def _near(path: str, pattern: Pattern, known: Mapping[str, list[str]]) -> str:
    """Return a path of a pattern with the closest known names; empty if the path does not match the pattern."""
    names = pattern.names_in(path)
    if names is None:
        return ""
    for key, value in names.items():
        if key in known and value not in known[key]:
            near = nearest(value, known[key])
            if not near:
                return ""
            names[key] = near.split("'")[1]
    return pattern(**names)


def existing_summary(summary: Path, targets: Collection[str]) -> str:
    """Return an existing summary for the terminal; empty if it was not a target, is missing or is no table."""
    requested = any(target == "summary" or Path(target).name == summary.name for target in targets)
    if not (requested and summary.is_file()):
        return ""
    # Imported only here: it takes longer than planning a run, which rarely needs it.
    from beirflow.core.csv_files import read_named_csv
    from beirflow.evaluation.terminal import for_terminal

    try:
        table = for_terminal(read_named_csv(str(summary)))
    except (ValueError, KeyError):
        return ""
    return f"\n\n{table}\n\nThe same in full precision: {summary}"
