"""Systems that search the vectors of another one."""

from beirflow.config.known_systems import Systems


def base_encoders(known: Systems) -> dict[str, tuple[str, str]]:
    """Return by chosen system the other one whose representations it searches, and by which dimensions or index."""
    paths = {system: known.family(system).in_paths(known.systems[system].settings) for system in known.chosen_systems}
    of_system = {system: (names.pop("system"), " ".join(names.values())) for system, names in paths.items()}
    return {system: (other, curve) for system, (other, curve) in of_system.items() if other != system}
