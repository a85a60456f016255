"""Systems that read runs of other systems, or are tuned on queries: what they need, whether it can be made, what they learnt."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from beirflow.config.families import FAMILIES
from beirflow.config.systems import instead_of
from beirflow.data.catalogue.choice import Rows, corpora_named
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.schema import Problems, choices
from beirflow.families.family import Reads, TunedOn
from beirflow.families.system import System

Run = tuple[str, Dataset]  # a system by its name, on a corpus

GIVEN = {"run": "the run", "vectors": "the vectors"}  # what a file is, by the key that names it; else it is an addition


def needed(names: Iterable[str], systems: Mapping[str, System]) -> list[str]:
    """Return some systems, and after them those whose runs they are made from, each once; unknown names are left out."""
    wanted = [name for name in dict.fromkeys(names) if name in systems]
    for name in wanted:  # which grows meanwhile
        wanted += [
            other for other in dict.fromkeys(_reads(systems[name]).systems.values()) if other in systems and other not in wanted
        ]
    return wanted


def trained_on(system: str, systems: Mapping[str, System], tuned: Mapping[str, Iterable[Dataset]]) -> dict[str, str] | None:
    """Return by dataset the split that a system, or one that it reads, was trained or tuned on; None if not stated.

    ``tuned`` has by system the corpora whose queries its settings are tuned on.
    """
    splits: dict[str, str] = {}
    for name in needed([system], systems):
        known = systems[name]
        if known.trained_on.datasets is None and FAMILIES[known.family].learns(known.settings):
            return None
        splits |= known.trained_on.datasets or {}
        for corpus in tuned.get(name, ()):
            splits.setdefault(corpus.whole_row, f"{corpus.split} (tuned)")
    return splits


def check_dependencies(systems: Mapping[str, System], used: Iterable[str], top_k: int, problems: Problems) -> None:
    """Check that no system needs an unknown one, or itself, or more documents of a run than are kept."""
    for name, system in systems.items():
        for key, other in _reads(system).systems.items():
            if other not in systems:
                others = [each for each in systems if each != name]
                allowed = instead_of(other, others, "; or define it under custom.systems")
                problems.add(f"custom.systems.{name}.{key}", other, allowed)
            elif circle := _way(other, name, systems):
                way = " -> ".join([name, *circle])
                problems.add(f"custom.systems.{name}.{key}", other, f"circular dependency, {way}; name another system")
            elif reason := FAMILIES[system.family].unreadable(system.settings, systems[other]):
                problems.add(f"custom.systems.{name}.{key}", other, reason)
    for name in used:
        depth = _reads(systems[name]).depth
        if depth is not None and depth > top_k:
            allowed = f"a depth can be at most top_k, which is {top_k}; raise top_k or lower the depth"
            problems.add(f"custom.systems.{name}.depth", depth, allowed)


def check_run_files(origin: str, system: System, datasets: Iterable[str], problems: Problems) -> None:
    """Check that the files of a system exist: those that hold its runs, or what it adds to documents.

    Raise OSError if the disk refuses, RuntimeError if a path begins with the home of an unknown user.
    """
    seen: dict[str, str] = {}
    family = FAMILIES[system.family]
    for dataset in datasets:
        run = family.source(system.settings, dataset)
        files = {"run": run} if run else family.given_files(system.settings, dataset)
        for key, path in files.items():
            what = GIVEN.get(key, "what is added to documents")
            if seen.get(str(path), dataset) != dataset:
                allowed = f"this would be {what} on {seen[str(path)]!r} and on {dataset!r}; write {{dataset}} where the name is"
                problems.add(f"{origin}.{key}", _written(system.settings, key), allowed)
                return
            seen[str(path)] = dataset
            if not path.is_file():
                problem = f"there is no file {path}, which would be {what} on {dataset!r}"
                problems.add(f"{origin}.{key}", _written(system.settings, key), problem)
                continue
            with path.open("rb"):
                pass  # a file that can be opened can be read


def _written(settings: Any, key: str) -> Any:
    for name in key.split("."):
        settings = settings[name] if isinstance(settings, Mapping) else getattr(settings, name)
    return settings


def _reads(system: System) -> Reads:
    return FAMILIES[system.family].reads(system.settings)


def _way(start: str, goal: str, systems: Mapping[str, System]) -> list[str]:
    """Return systems of which each needs the next, from one to another; empty if there is no such way."""
    ways, seen = [[start]], {start}
    for way in ways:  # which grows meanwhile
        if way[-1] == goal:
            return way
        for other in _reads(systems[way[-1]]).systems.values():
            if other in systems and other not in seen:
                seen.add(other)
                ways.append([*way, other])
    return []


def runs_needed(pairs: Iterable[Run], systems: Mapping[str, System], rows: Rows) -> list[Run]:
    """Return some runs and those that they are made from: of other systems, and on the corpora that these are tuned on.

    Each is there once; unknown systems are left out.
    """
    runs = list(pairs)
    seen = {(name, corpus.name) for name, corpus in runs}
    for name, corpus in runs:  # which grows meanwhile
        how, first_stages = _tuned_on(systems[name]), _reads(systems[name]).systems
        corpora = filter(None, (corpus, how and tuning_corpus(how, corpus, rows)))
        for other, on in product(dict.fromkeys(first_stages.values()), list(corpora)):
            if other in systems and (other, on.name) not in seen:
                seen.add((other, on.name))
                runs.append((other, on))
    return runs


def tuning_rows(pairs: Iterable[Run], systems: Mapping[str, System], rows: Rows) -> dict[str, tuple[Dataset, ...]]:
    """Return the datasets and splits on which systems are tuned for some runs, and for those that these are made from."""
    needed = ((_tuned_on(systems[name]), corpus) for name, corpus in runs_needed(pairs, systems, rows))
    tuned_rows = [tuning_row(how, corpus, rows) or () for how, corpus in needed if how]
    return {corpora[0].row: corpora for corpora in tuned_rows if corpora}


def _tuned_on(system: System) -> TunedOn | None:
    return FAMILIES[system.family].tuned_on(system.settings)


def tuning_row(how: TunedOn, corpus: Dataset, rows: Rows) -> tuple[Dataset, ...] | None:
    """Return the corpora of the dataset on which settings are tuned for a corpus; None without such a dataset or split."""
    if how.split is None:
        of_forum = next((corpora for corpora in rows.values() if how.dataset in [each.name for each in corpora]), None)
        return of_forum or corpora_named(str(how.dataset), rows)
    # The usual split has the name of its dataset. A manifest of other splits, or of samples, does not have it.
    usual = rows.get(corpus.whole_row)
    return usual if usual and how.split == usual[0].split else corpora_named(f"{corpus.whole_row}.{how.split}", rows)


def tuning_corpus(how: TunedOn, corpus: Dataset, rows: Rows) -> Dataset | None:
    """Return the corpus on which settings are tuned for an evaluated corpus; None if there is no such."""
    corpora = tuning_row(how, corpus, rows) or ()
    if how.split is None:
        return corpora[0] if len(corpora) == 1 else next((each for each in corpora if each.name == how.dataset), None)
    return next((each for each in corpora if each.forum == corpus.forum), None)


def check_tuning(pairs: Iterable[Run], systems: Mapping[str, System], rows: Rows, problems: Problems) -> None:
    """Check that no system is tuned on an unknown dataset, or on the queries that are evaluated."""
    for name, corpus in pairs:
        how = _tuned_on(systems[name])
        if how is None:
            continue
        key, value, other = f"custom.systems.{name}.{how.key}", how.split or how.dataset, tuning_corpus(how, corpus, rows)
        if other is None:
            problems.add(key, value, _allowed(how, corpus, rows))
        elif (other.whole_name, other.split) == (corpus.whole_name, corpus.split):
            problem = f"{name} would be tuned for {corpus.name} on the queries that are evaluated"
            problems.add(key, value, f"{problem}; name another split or dataset")


def _allowed(how: TunedOn, corpus: Dataset, rows: Rows) -> str:
    """Return the names that can replace an unknown one."""
    if how.split is not None:
        usual = rows[corpus.whole_row][0]
        others = [usual.split, *usual.other_splits]
        return (
            f"{corpus.whole_row} has {'the splits' if len(others) > 1 else 'only the split'} {', '.join(others)}; name a dataset"
        )
    if how.dataset in rows:
        forums = ", ".join(each.name for each in rows[str(how.dataset)])
        return f"one corpus is needed, and {how.dataset} has several, {forums}; name one"
    return choices(how.dataset, rows)
