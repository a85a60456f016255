"""Systems that compare the same vectors by two similarities."""

from beirflow.config.load import load_experiment
from beirflow.extensions.paper.similarities import similarity_pairs


def test_systems_that_compare_the_same_vectors_by_the_cosine_and_by_the_dot_product_are_a_pair() -> None:
    hub = {"model": "some/model", "revision": "0" * 40}
    systems = {"own": {**hub, "similarity": "cosine"}, "dot": {"variant_of": "own", "similarity": "dot"}}
    systems["bits"] = {"variant_of": "own", "vectors": "binary"}
    for chosen, expected in ((["bits", "own"], []), (["dot", "bits", "own"], [("own", "dot")])):
        assert similarity_pairs(load_experiment({"systems": chosen, "custom": {"systems": systems}})) == expected
