"""Lengths and scores as Lucene's classes compute them."""

import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lucene_reference
from beirflow.families.lexical.bm25 import LENGTHS, length_codes

GOLDEN = json.loads((Path(__file__).parents[3] / "data/lucene_golden.json").read_text(encoding="utf-8"))


def test_codes_stand_for_lucenes_lengths() -> None:
    assert LENGTHS.tolist() == GOLDEN["byte4_to_int"]


@given(st.integers(0, 2**31 - 1))
def test_lengths_are_rounded_down_to_four_bits(length: int) -> None:
    assert LENGTHS[length_codes(np.array([length]))[0]] == lucene_reference.decoded_length(length)
