"""Systems whose settings are tuned on queries: the corpora, which must differ from the evaluated ones."""

from collections.abc import Iterable, Mapping
from itertools import product

from beirflow.catalogue.choice import Rows, corpora_named
from beirflow.catalogue.dataset import Dataset
from beirflow.catalogue.schema import Problems, nearest
from beirflow.experiment.families import FAMILIES
from beirflow.runs.family import System, TunedOn

Run = tuple[str, Dataset]
"""A system by its name, on a corpus."""


def runs_needed(pairs: Iterable[Run], systems: Mapping[str, System], rows: Rows) -> list[Run]:
    """Return some runs and those that they are made from: of other systems, and on the corpora that these are tuned on.

    Each is there once; unknown systems are left out.
    """
    found = list(pairs)
    seen = {(name, corpus.name) for name, corpus in found}
    for name, corpus in found:  # which grows meanwhile
        how, first_stages = _tuned_on(systems[name]), FAMILIES[systems[name].family].reads(systems[name].settings).systems
        corpora = filter(None, (corpus, how and tuning_corpus(how, corpus, rows)))
        for other, on in product(dict.fromkeys(first_stages.values()), list(corpora)):
            if other in systems and (other, on.name) not in seen:
                seen.add((other, on.name))
                found.append((other, on))
    return found


def tuning_rows(pairs: Iterable[Run], systems: Mapping[str, System], rows: Rows) -> dict[str, tuple[Dataset, ...]]:
    """Return the datasets and splits on which systems are tuned for some runs, and for those that these are made from."""
    needed = ((_tuned_on(systems[name]), corpus) for name, corpus in runs_needed(pairs, systems, rows))
    found = [tuning_row(how, corpus, rows) or () for how, corpus in needed if how]
    return {corpora[0].row: corpora for corpora in found if corpora}


def _tuned_on(system: System) -> TunedOn | None:
    return FAMILIES[system.family].tuned_on(system.settings)


def tuning_row(how: TunedOn, corpus: Dataset, rows: Rows) -> tuple[Dataset, ...] | None:
    """Return the corpora of the dataset on which settings are tuned for a corpus; None without such a dataset or split."""
    if how.split is None:
        of_forum = next((corpora for corpora in rows.values() if how.dataset in [each.name for each in corpora]), None)
        return of_forum or corpora_named(str(how.dataset), rows)
    usual = rows[corpus.whole_row]
    return usual if how.split == usual[0].split else corpora_named(f"{corpus.whole_row}.{how.split}", rows)


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
    return f"allowed are {', '.join(rows)}{nearest(how.dataset, rows)}"
