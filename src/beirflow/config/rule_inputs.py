"""Inputs of the rules that answer one query at a time or find the matches of hits, and the form of wildcards."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from beirflow.config.dependencies import needed
from beirflow.config.experiment import MOST_THREADS, Experiment
from beirflow.core.layout import RESULTS, RUN_RECORD
from beirflow.data.catalogue.choice import corpus_for_latency
from beirflow.run.code_version import code_of


def corpus_of(experiment: Experiment) -> str:
    """Return the corpus whose queries are asked; one with candidates of its own only if there is no other."""
    known = {name: experiment.datasets[name].form for name in experiment.chosen_datasets}
    # Queries with candidates of their own are answered from these, which tells little about a search.
    searched = [name for name, form in known.items() if not (form and form.own_candidates)]
    return corpus_for_latency({name: experiment.documents(name) or 0 for name in searched or known})


def answering_systems(experiment: Experiment, system: str, dataset: str) -> dict[str, dict[str, Any]]:
    """Return a system and those that it is made from, as parameters of a rule.

    By name: ``family``, ``settings`` as they are for the corpus, and ``kind``, the class of these; ``answers``, which opens the
    system, or None; and ``has_models``.
    """
    entries = {}
    for name in needed([system], experiment.systems):
        known, family = experiment.systems[name], experiment.family(name)
        kind = type(known.settings)
        entries[name] = {
            "family": known.family,
            "kind": f"{kind.__module__}:{kind.__qualname__}",
            "settings": asdict(experiment.settings_for(name, dataset)),
            "answers": family.answers,
            "has_models": family.model_record(known.settings) is not None,
        }
    return entries


def settings_with_kind(experiment: Experiment, system: str, dataset: str) -> dict[str, Any]:
    """Return ``kind`` and ``settings`` of a system, as :func:`answering_systems` has them."""
    entry = answering_systems(experiment, system, dataset)[system]
    return {key: entry[key] for key in ("kind", "settings")}


def searched_files(experiment: Experiment, system: str, dataset: str) -> list[str]:
    """Return the records of the runs of a system and of those that it is made from, and all that these search."""
    paths: list[str] = []
    for name in needed([system], experiment.systems):
        paths.append(RUN_RECORD.below(RESULTS).format(system=name, dataset=dataset))
        names = {**experiment.in_paths(name, dataset), "dataset": dataset}
        for pattern in experiment.family(name).searched(experiment.systems[name].settings):
            chunks = range(experiment.chunks(dataset)) if "{chunk}" in pattern else range(1)
            paths += [pattern.below(RESULTS).format(**{**names, "chunk": chunk}) for chunk in chunks]
    return list(dict.fromkeys(paths))


def answering_code(experiment: Experiment, system: str, dataset: str) -> str:
    """Return the digest of the code that answers, which no module of a rule's function imports: it is imported by name."""
    modules: set[str] = set()
    for name in needed([system], experiment.systems):
        family, settings = experiment.family(name), experiment.systems[name].settings
        modules |= {type(settings).__module__, *family.by_name(experiment.settings_for(name, dataset))}
        modules |= {family.answers.partition(":")[0]} if family.answers else set()
    return code_of(modules)


def finder_of(experiment: Experiment, system: str) -> str | None:
    """Return ``module:function`` that finds the matches of a system's hits; None if nothing does."""
    return experiment.family(system).matches(experiment.systems[system].settings)


def finder_code(experiment: Experiment, system: str) -> str:
    """Return the digest of the code that finds matches of a system's hits, which is imported by name, too."""
    kind = type(experiment.systems[system].settings)
    return code_of([str(finder_of(experiment, system)).partition(":")[0], kind.__module__])


def given_file(experiment: Experiment, expansion: str, dataset: str) -> str:
    """Return the file outside the results that holds a given expansion for a corpus."""
    return str(experiment.expansions.known[expansion].file(experiment.datasets[dataset].whole_name))


def gpu_share(experiment: Experiment, limits: Mapping[str, int]) -> tuple[int, int | None]:
    """Return threads and ``gpu`` that a job requests from Snakemake to compute on a GPU.

    ``limits`` are Snakemake's: ``_cores`` and, if it is limited, ``gpu``, the number of such jobs at once. Threads are so few
    that all these jobs find cores; the share of ``gpu`` is None if that is not limited: an executor of a cluster would ask
    for a GPU, which a profile decides.
    """
    gpus, cores = limits.get("gpu"), limits.get("_cores")
    if experiment.config["device"] == "cpu" or gpus is None:
        return MOST_THREADS, None
    # An executor of a cluster has no ``_cores``.
    return max(1, min(MOST_THREADS, (cores or MOST_THREADS) // max(1, gpus))), 1


def all_cores(limits: Mapping[str, int]) -> int:
    """Return the threads of a job that runs alone; an executor of a cluster has no ``_cores``."""
    return limits.get("_cores") or MOST_THREADS


def one_of(names: Iterable[str]) -> str:
    """Return a short regular expression that matches these names and no others; ``(?!)``, which matches nothing, for none.

    An empty expression would allow every name. Names share their beginnings and endings: Snakemake writes the expression into
    every path of every rule and reads it for every file of the plan, where a list of a thousand names costs seconds.
    """
    return _of_tails(frozenset(names)) if (names := [*names]) else "(?!)"


def _of_tails(tails: frozenset[str]) -> str:
    by_first: dict[str, set[str]] = {}
    for tail in sorted(tails - {""}):
        by_first.setdefault(tail[0], set()).add(tail[1:])
    firsts: dict[str, list[str]] = {}
    for first, rest in by_first.items():
        firsts.setdefault(_of_tails(frozenset(rest)), []).append(re.escape(first))
    ways = [(each[0] if len(each) == 1 else f"[{''.join(each)}]") + rest for rest, each in firsts.items()]
    if not ways:
        return ""
    whole = ways[0] if len(ways) == 1 and "" not in tails else f"(?:{'|'.join(ways)})"
    return f"{whole}?" if "" in tails else whole
