"""Systems that differ in their similarity alone."""

from beirflow.config.experiment import Experiment


def similarity_pairs(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the configured systems that compare the same vectors, one by the cosine and one by the dot product."""
    by_vectors: dict[str, dict[str, str]] = {}
    for name in experiment.chosen_systems:
        if compared := experiment.family(name).compared(experiment.systems[name].settings):
            by_vectors.setdefault(compared[0], {}).setdefault(compared[1], name)
    return [(each["cosine"], each["dot"]) for each in by_vectors.values() if len(each) > 1]
