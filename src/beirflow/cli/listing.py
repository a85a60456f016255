"""``beirflow list``: the systems, datasets, measures and targets that are known here."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from beirflow.config.experiment import Experiment

HELP = "list known systems, datasets, measures or targets"

WIDEST, NARROWEST = 120, 8  # characters of a line, and to which a column is wrapped at most
SOME = 6  # names of systems or datasets in a line

Row = dict[str, Any]


class Listed(NamedTuple):
    """A list: its rows, whose first key is the name, and a line below them."""

    rows: list[Row]
    below: str


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("kind", metavar="KIND", help=", ".join(_kinds()))
    parser.add_argument("pattern", nargs="?", default="", metavar="PATTERN", help="a part of a line, or a name with * and ?")
    parser.add_argument(
        "--config", action="append", default=[], metavar="FILE", help="a configuration, whose names are listed too"
    )
    parser.add_argument("--json", action="store_true", help="print a list of JSON objects in place of the table")
    parser.epilog = "Examples: beirflow list systems bge; beirflow list datasets 'bright.*'; beirflow list measures"


def main(options: Namespace) -> int:
    """Print a list. Raises ConfigError if there is no such kind, or nothing matches."""
    import json

    from beirflow.core.errors import ConfigError
    from beirflow.data.catalogue.schema import choices, nearest

    kinds = _kinds()
    if options.kind not in kinds:
        raise ConfigError(f"list {options.kind}: there is no such list; {choices(options.kind, kinds)}")
    listed = kinds[options.kind](_experiment(options.config))
    rows = [row for row in listed.rows if _matches(options.pattern, row)]
    if not rows:
        names = [str(next(iter(row.values()))) for row in listed.rows]
        near = nearest(options.pattern, names)
        raise ConfigError(f"list {options.kind}: nothing matches {options.pattern!r}{near}; without a pattern, all are listed")
    if options.json:
        sys.stdout.write(f"{json.dumps(rows, indent=2, ensure_ascii=False)}\n")
    else:
        sys.stdout.write("\n".join([*_table(rows), "", listed.below, ""]))
    return 0


def _kinds() -> "Mapping[str, Callable[[Experiment], Listed]]":
    return {"systems": _systems, "datasets": _datasets, "measures": _measures, "targets": _targets}


def _experiment(config_files: Sequence[str]) -> "Experiment":
    """Load a configuration; without one, what is known anyway."""
    from beirflow.cli.configuration import load_files
    from beirflow.config.load import load_experiment

    return load_files(config_files) if config_files else load_experiment({})


def _matches(pattern: str, row: Row) -> bool:
    """Test whether a name matches a pattern with * or ?, or any cell has a text in it."""
    from fnmatch import fnmatchcase

    name, *_ = cells = [_shown(value).lower() for value in row.values()]
    pattern = pattern.lower()
    return fnmatchcase(name, pattern) if {*pattern} & {*"*?["} else any(pattern in cell for cell in cells)


def _systems(experiment: "Experiment") -> Listed:
    from beirflow.models.settings import ModelSettings

    published, rows = experiment.catalogue.published, list[Row]()
    for name, system in experiment.systems.items():
        settings, added = system.settings, experiment.family(name).added(system.settings)
        more = getattr(added, "model", None)
        models = (settings.source if isinstance(settings, ModelSettings) else None, more and f"texts from {more}")
        model = ", ".join(filter(None, models)) or None
        rows.append({"system": name, "family": system.family, "model": model, "published scores": name in published})
    return Listed(rows, "In a configuration: systems: [bm25, contriever]. Your own: custom.systems, docs/families.md")


def _datasets(experiment: "Experiment") -> Listed:
    rows = list[Row]()
    for name, corpora in {**experiment.catalogue.known_datasets, **experiment.rows}.items():
        kinds = experiment.catalogue.kinds.get(name, {})
        documents, queries = ([getattr(corpus, key) for corpus in corpora] for key in ("documents", "queries"))
        rows.append(
            {
                "dataset": name,
                **{key: kinds.get(key) for key in ("task", "domain", "language")},
                "documents": None if None in documents else sum(documents),
                "queries": None if None in queries else sum(queries),
                "licence": corpora[0].licence,
            }
        )
    return Listed(rows, "In a configuration: datasets: [scifact, nfcorpus]. Your own: custom.datasets, docs/datasets.md")


def _measures(experiment: "Experiment") -> Listed:
    from beirflow.ranking.measures.all_measures import MEASURES

    rows = [{"measure": f"{name}@k", "meaning": each.meaning} for name, each in MEASURES.items()]
    cutoffs = ", ".join(map(str, experiment.config["cutoffs"]))
    main = experiment.main_measure
    return Listed(rows, f"k: {cutoffs} (cutoffs in the configuration). Systems are ranked by {main} (main_measure)")


def _targets(experiment: "Experiment") -> Listed:
    from pathlib import Path

    from beirflow.core.extensions import command_targets
    from beirflow.report.overview import target_words

    results = str(experiment.config["results"])
    words: dict[str, str] = {**target_words(Path(results)), **FURTHER_WORDS}
    words |= command_targets()
    files = {f"{results}/{path}": content for path, content in _files().items()}
    rows = [{"target": name, "content": content} for name, content in {**words, **files}.items()]
    names = {"system": experiment.chosen_systems, "dataset": experiment.chosen_datasets}
    shown = [f"<{key}>: {', '.join(each[:SOME])}{' …' * (len(each) > SOME)}" for key, each in names.items()]
    return Listed(rows, "\n".join([*shown, "As in: beirflow run my.yaml report"]))


FURTHER_WORDS = {
    "runs": "the runs of all systems in TREC form",
    "tables": "all tables for LaTeX and Markdown",
    "figures": "all figures",
    "clean_representations": "deletes vectors and postings behind finished runs",
}
"""Targets in a word that the overview of a run does not explain."""


def _files() -> Mapping[str, str]:
    """Return the files that a target may name, with their content; docs/targets.md has more of each."""
    from beirflow.core.kinds import PATTERNS
    from beirflow.core.layout import FIGURE_PDF, TABLE_TEX
    from beirflow.report.registry import functions

    named: dict[str, str] = {FIGURE_PDF: f": {', '.join(functions('figure'))}", TABLE_TEX: f": {', '.join(functions('table'))}"}
    files = {path: f"{path.content}{named.get(path, '')}" for path in PATTERNS if path.content}
    return {path.replace("{", "<").replace("}", ">"): content for path, content in files.items()}


def _table(rows: Sequence[Row]) -> list[str]:
    """Return rows as aligned lines of at most ``WIDEST`` characters; cells are wrapped, but for those of the first column."""
    from itertools import zip_longest
    from textwrap import wrap

    cells = [[*rows[0]], *([_shown(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > WIDEST and max(widths[1:]) > NARROWEST:
        widths[widths.index(max(widths[1:]), 1)] -= 1
    lines = []
    for row in cells:
        parts = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            aligned = (f"{each:{'>' if each[:1].isdigit() else '<'}{width}}" for each, width in zip(line, widths, strict=True))
            lines.append("  ".join(aligned).rstrip())
    return lines


def _shown(value: Any) -> str:
    """Return a cell in words."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
