"""On a GPU queries and weights are those of the CPU, but for roundings."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from beirflow.extensions.expansions import decoder, writer
from beirflow.extensions.expansions.word_weigher import WordWeigher
from beirflow.extensions.expansions.writer import QueryWriter, texts_at_once
from beirflow.families.expansions.settings import WordWeights, WrittenQueries
from tiny_bert import WORDS
from tiny_expanders import save_deepct, save_tiny_t5

TEXTS = [" ".join(WORDS[i : i + 1 + i % 50]) for i in range(100)]
IDS = [f"d{i}" for i in range(len(TEXTS))]


def made(load: Any, settings: Any, folder: Path, device: str, precision: str) -> list[Any]:
    reader = load(settings, folder, device=device, precision=precision, token_budget="auto")
    found = {row: value for part in reader.parts(IDS, TEXTS) for row, value in zip(part.rows.tolist(), part.values, strict=True)}
    return [found[row] for row in range(len(TEXTS))]


def test_queries_are_those_of_the_cpu(tmp_path: Path) -> None:
    settings = WrittenQueries(str(save_tiny_t5(tmp_path)), queries=10, query_length=20)
    expected, found = (made(QueryWriter, settings, tmp_path, device, "float32") for device in ("cpu", "cuda"))
    same = [
        one == other for before, after in zip(expected, found, strict=True) for one, other in zip(before, after, strict=False)
    ]
    assert np.mean(same) > 0.98
    assert all(made(QueryWriter, settings, tmp_path, "cuda", "bfloat16"))


def test_a_fused_kernel_can_read_every_mask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attend = Mock(side_effect=torch.nn.functional.scaled_dot_product_attention)
    monkeypatch.setattr(decoder, "scaled_dot_product_attention", attend)
    made(QueryWriter, WrittenQueries(str(save_tiny_t5(tmp_path)), queries=2, query_length=5), tmp_path, "cuda", "bfloat16")
    # CUDA's kernels read masks whose last stride is 1; torch else converts all keys and values to float32, at each step.
    masks = [call.kwargs["attn_mask"] for call in attend.call_args_list]
    assert [mask.shape for mask in masks if mask.stride(-1) != 1] == []


@pytest.mark.parametrize(("gigabytes", "texts"), [(8, 1024), (24, 4096), (80, 16_384)])
def test_a_writer_as_large_as_doct5query_writes_as_many_queries_at_once_as_memory_holds(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, texts: int
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (gigabytes << 30, gigabytes << 30))
    t5_base = SimpleNamespace(num_decoder_layers=12, num_heads=12, d_kv=64, vocab_size=32_128)
    settings = WrittenQueries("castorini/doc2query-t5-base-msmarco", queries=80)
    assert texts_at_once(torch.device("cuda"), t5_base, torch.bfloat16, settings) == texts
    assert texts_at_once(torch.device("cpu"), t5_base, torch.bfloat16, settings) == 320


def test_where_memory_runs_out_half_as_many_queries_are_written_and_they_stay_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = WrittenQueries(str(save_tiny_t5(tmp_path)), queries=10, query_length=3)
    expected, begin, sizes = made(QueryWriter, settings, tmp_path, "cuda", "float32"), decoder.Decoder.begin, list[int]()

    def limited(self: decoder.Decoder, ids: torch.Tensor, mask: torch.Tensor, width: int) -> decoder.Written:
        sizes.append(len(ids))
        if len(ids) > 30:
            raise torch.OutOfMemoryError
        return begin(self, ids, mask, width)

    monkeypatch.setattr(decoder.Decoder, "begin", limited)
    monkeypatch.setitem(writer.TEXTS, "cuda", 400)
    found = made(QueryWriter, settings, tmp_path, "cuda", "float32")
    assert sizes == [2, 40, 20, 20, 20, 20, 20]
    same = [one == other for some, others in zip(expected, found, strict=True) for one, other in zip(some, others, strict=False)]
    assert np.mean(same) > 0.98


def test_weights_are_those_of_the_cpu(tmp_path: Path) -> None:
    settings = WordWeights(str(save_deepct(tmp_path)))
    expected, found = (made(WordWeigher, settings, tmp_path, device, "float32") for device in ("cpu", "cuda"))
    for before, after in zip(expected, found, strict=True):
        assert dict(zip(*after, strict=True)) == pytest.approx(dict(zip(*before, strict=True)), abs=1e-3)
