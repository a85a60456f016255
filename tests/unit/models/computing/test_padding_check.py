"""The padding check, against functions of a batch whose dependence on padding is known."""

import numpy as np
import pytest

from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.padding_check import changed_by_padding

IDS = [5, 3, 8, 2, 9]


def sums(texts: Tokens) -> np.ndarray:
    """The sum of the tokens of each text."""
    ids, _ = pad(texts, np.arange(len(texts.lengths)), 0)
    return ids.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("ids", [IDS, []])
def test_a_computation_that_leaves_padding_out_changes_by_nothing(ids: list[int]) -> None:
    assert changed_by_padding(sums, ids, None) == 0


def test_the_change_is_that_of_all_texts_over_the_length_of_their_vectors() -> None:
    """In a batch of 17 tokens, the first two of three texts of 5, 3 and 17 tokens are padded by 12 and 14."""
    alone = sums(Tokens.of(0, [IDS, IDS[:3], [*IDS, *IDS, *IDS, *IDS[:2]]]))
    found = changed_by_padding(lambda texts: sums(texts) + texts.lengths.max() - texts.lengths[:, None], IDS, None)
    assert found == pytest.approx(np.hypot(12, 14) / np.linalg.norm(alone))


@pytest.mark.parametrize("longest", [2, 3, 7, 16])
def test_no_text_is_longer_than_what_the_model_reads(longest: int) -> None:
    seen: list[int] = []

    def compute(texts: Tokens) -> np.ndarray:
        seen.extend(texts.lengths)
        return texts.lengths.max() - texts.lengths[:, None] + 1

    assert changed_by_padding(compute, IDS, longest) > 0
    assert max(seen) == longest
