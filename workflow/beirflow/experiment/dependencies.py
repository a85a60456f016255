"""Systems that read the runs of other systems: which ones, and whether these can be made."""

from collections.abc import Iterable, Mapping
from typing import Any

from beirflow.catalogue.schema import Problems, nearest
from beirflow.experiment.families import FAMILIES
from beirflow.runs.family import Reads, System


def needed(names: Iterable[str], systems: Mapping[str, System]) -> list[str]:
    """Return some systems, and after them those whose runs they are made from, each once; unknown names are left out."""
    found = [name for name in dict.fromkeys(names) if name in systems]
    for name in found:  # which grows meanwhile
        found += [
            other for other in dict.fromkeys(_reads(systems[name]).systems.values()) if other in systems and other not in found
        ]
    return found


def check_dependencies(systems: Mapping[str, System], used: Iterable[str], top_k: int, problems: Problems) -> None:
    """Check that no system needs an unknown one, or itself, or more documents of a run than are kept."""
    for name, system in systems.items():
        for key, other in _reads(system).systems.items():
            if other not in systems:
                known = [each for each in systems if each != name]
                allowed = f"allowed are {', '.join(known)}, or define it under custom.systems{nearest(other, known)}"
                problems.add(f"custom.systems.{name}.{key}", other, allowed)
            elif circle := _way(other, name, systems):
                way = " needs ".join([name, *circle])
                problems.add(f"custom.systems.{name}.{key}", other, f"no system can need its own run, but {way}; name another")
            elif reason := FAMILIES[system.family].unreadable(system.settings, systems[other]):
                problems.add(f"custom.systems.{name}.{key}", other, reason)
    for name in used:
        depth = _reads(systems[name]).depth
        if depth is not None and depth > top_k:
            allowed = f"a depth can be at most top_k, which is {top_k}; raise top_k or lower the depth"
            problems.add(f"custom.systems.{name}.depth", depth, allowed)


def check_run_files(origin: str, system: System, datasets: Iterable[str], problems: Problems) -> None:
    """Check that the files of a system exist: those that hold its runs, or what it adds to documents.

    Raise OSError if the disk refuses, RuntimeError if a path begins with the home of nobody.
    """
    seen: dict[str, str] = {}
    family = FAMILIES[system.family]
    for dataset in datasets:
        run = family.source(system.settings, dataset)
        files = {"run": run} if run else family.given_files(system.settings, dataset)
        for key, path in files.items():
            what = "the run" if path is run else "what is added to documents"
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
    """Return the configured value of a key."""
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
