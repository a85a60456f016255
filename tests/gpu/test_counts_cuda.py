"""Work that the host shares with the device, per batch: the host waits for nothing, and copies come from pinned memory."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from transformers import AttentionMaskInterface
from transformers.masking_utils import eager_mask, sdpa_mask

import pretended_cuda
from beirflow.core.progress import Progress
from beirflow.extensions.expansions.writer import QueryWriter
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigher import Weigher
from tiny_answers import save_tiny_qwen3
from tiny_bert import WORDS
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_expanders import save_tiny_t5
from tiny_sparse import save_masked_lm, save_unicoil

TEXTS = [" ".join(WORDS[i : i + 5 + i % 20]) for i in range(100)]
HOW: dict[str, Any] = {"device": "cuda", "precision": "float32", "token_budget": 200}


@contextmanager
def synchronisations() -> Iterator[list[str]]:
    """Collect what makes the host wait, as torch's debug mode reports it on any device."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
            found += [str(each.message) for each in caught if "called a synchronizing" in str(each.message)]


def late(folder: Path) -> tuple[Any, Callable[[Progress], object]]:
    encoder = TokenEncoder(LateSettings("s", model=str(save_colbert(folder))), folder, "documents", **HOW)
    return encoder, partial(encoder._begin, encoder._read(TEXTS, 0))


def weigher(save: Callable[[Path], object], head: Any, folder: Path) -> tuple[Any, Callable[[Progress], object]]:
    save(folder)
    part = read_parts(SparseSettings("s", model=str(folder), head=head)).documents
    weigher = Weigher("s", part, **HOW)
    return weigher, partial(weigher._begin, "documents", weigher._tokenize(TEXTS, None, 0))


def scorer(save: Callable[[Path], Path], kind: Any, folder: Path) -> tuple[Any, Callable[[Progress], object]]:
    scorer: Any = load_scorer(RerankSettings("r", str(save(folder)), first="bm25", kind=kind), **HOW)
    return scorer, partial(scorer._begin, scorer._tokenize([(text[:9], text) for text in TEXTS], 0))


MODELS: dict[str, tuple[Callable[[Path], tuple[Any, Callable[[Progress], object]]], int]] = {
    "late": (late, 4),
    "splade": (partial(weigher, save_masked_lm, "splade"), 2),
    "unicoil": (partial(weigher, save_unicoil, "unicoil"), 3),
    "cross-encoder": (partial(scorer, save_cross_encoder, None), 3),
    "qwen3-reranker": (partial(scorer, save_tiny_qwen3, "qwen3-reranker"), 2),
}
"""Of each: a loaded model and how it begins a window, and the copies of a batch."""


@pytest.mark.parametrize("name", MODELS)
def test_the_host_waits_for_no_batch(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, copies = MODELS[name]
    for attention, make in (("sdpa", sdpa_mask), ("eager", eager_mask)):  # as in a process that has not loaded a model yet
        AttentionMaskInterface.register(attention, make)
    model, begin = prepare(tmp_path)
    compute = Mock(side_effect=model._compute)
    monkeypatch.setattr(model, "_compute", compute)
    pretended_cuda.counts.clear()
    with Progress("compute", len(TEXTS), "texts") as progress, synchronisations() as waits:
        begin(progress)
    assert compute.call_count > 5
    assert waits == []
    assert pretended_cuda.counts["copies"] <= copies * compute.call_count + 4  # of the results


def test_a_writer_of_queries_waits_once_for_each_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And for each batch: to see that numbers are finite, and for the queries; and where finished ones leave it."""
    writer = QueryWriter(WrittenQueries(str(save_tiny_t5(tmp_path)), queries=2, query_length=8), tmp_path, **HOW)
    begin, step = (Mock(side_effect=getattr(writer.decoder, name)) for name in ("begin", "step"))
    monkeypatch.setattr(writer.decoder, "begin", begin)
    monkeypatch.setattr(writer.decoder, "step", step)
    with synchronisations() as waits:
        assert sum(len(part.rows) for part in writer.parts(TEXTS[:30], TEXTS[:30])) == 30
    assert step.call_count > 5 * begin.call_count
    assert len(waits) <= step.call_count + 4 * begin.call_count, waits
