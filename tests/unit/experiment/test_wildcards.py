"""A wildcard matches the names of a list and nothing else."""

import re

import pytest
from beirflow.experiment.wildcards import one_of

NAMES = ["nq", "nfcorpus", "nfcorpus.dev", "scifact", "scidocs", "fever", "climate-fever", "a", "ab", "abc", "x^y", "x]y", "x-y"]


@pytest.mark.parametrize("names", [NAMES, NAMES[:1], [f"small-{number:03}" for number in range(0, 1000, 7)]])
def test_names_match_and_others_do_not(names: list[str]) -> None:
    expression = one_of(names)
    near = {changed for name in names for changed in (name[:-1], name + "x", "x" + name, name.upper(), name[1:])}
    assert [name for name in sorted({*names, *near}) if re.fullmatch(expression, name)] == sorted(names)


def test_nothing_matches_no_names() -> None:
    assert not any(re.fullmatch(one_of([]), name) for name in ("", "a"))


def test_names_that_differ_in_numbers_have_a_short_expression() -> None:
    assert len(one_of(f"small-{number:04}" for number in range(1000))) < 60
