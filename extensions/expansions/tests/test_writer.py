"""Queries that a T5 writes: transformers' own, token for token, and the same whatever is written beside them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from beirflow.core.errors import ModelError
from beirflow.extensions.expansions import loading, writer
from beirflow.extensions.expansions.sampler import draws, pick
from beirflow.extensions.expansions.writer import QueryWriter
from beirflow.families.expansions.settings import WrittenQueries
from tiny_expanders import END, PAD, save_tiny_t5
from workflow_runs import words
from zoo import change_json

SPECIAL_WORD = 4 + 7
"""The token of w7."""

TEXTS = [words(i, 2 + 5 * i % 23) for i in range(14)]
IDS = [f"d{i}" for i in range(len(TEXTS))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_t5(tmp_path_factory.mktemp("t5"))


def writer_of(folder: Path, budget: int | str = 60, **settings: Any) -> QueryWriter:
    how = WrittenQueries(str(folder), **settings)
    return QueryWriter(how, folder, device="cpu", precision="float32", token_budget=budget)


def made(
    folder: Path, texts: list[str] = TEXTS, ids: list[str] = IDS, budget: int | str = 60, **settings: Any
) -> list[list[str]]:
    """The queries of texts."""
    reader = writer_of(folder, budget, **{"queries": 5, "query_length": 12, **settings})
    found: dict[int, list[str]] = {}
    for part in reader.parts(ids, texts):
        assert not found.keys() & set(part.rows.tolist())
        found |= zip(part.rows.tolist(), part.values, strict=True)
    return [list(found[row]) for row in range(len(texts))]


@pytest.mark.parametrize(
    "kind", [{}, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}, {"model_type": "mt5"}], ids=str
)
def test_the_most_probable_tokens_are_those_of_generate(tmp_path: Path, kind: dict[str, Any]) -> None:
    folder = save_tiny_t5(tmp_path, **kind)
    reader = writer_of(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    encoded = reader.tokenizer(TEXTS, padding=True, return_tensors="pt")
    tokens = model.generate(**encoded, do_sample=False, num_beams=1, max_length=12)
    written = map(str.strip, reader.tokenizer.batch_decode(tokens, skip_special_tokens=True))
    expected = [[text] if text else [] for text in written]
    assert made(folder, queries=1, top_k=1) == expected
    assert len({text for texts in expected for text in texts}) > 3


def plainly(folder: Path, text: str, doc_id: str, queries: int, length: int) -> list[list[int]]:
    """Tokens of the queries of a document, written one by one by the whole model without a cache."""
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    reader = writer_of(folder)
    ids = reader.tokenizer([text], return_tensors="pt")["input_ids"]
    numbers = torch.from_numpy(draws(0, [doc_id], queries, length - 1)[0])
    found = []
    for query in range(queries):
        tokens = [PAD]
        while len(tokens) < length and tokens[-1] != END:
            with torch.inference_mode():
                logits = model(input_ids=ids, decoder_input_ids=torch.tensor([tokens])).logits[0, -1]
            tokens.append(int(pick(logits, numbers[query, len(tokens) - 1], 10, 1.0)))
        found.append(tokens)
    return found


def test_every_query_is_drawn_as_it_is_alone(folder: Path) -> None:
    found = made(folder)
    reader = writer_of(folder)
    for row in (0, 7, 13):
        tokens = plainly(folder, TEXTS[row], IDS[row], 5, 12)
        expected = [text.strip() for text in reader.tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        assert found[row] == [text for text in expected if text]
    lengths = {len(query.split()) for queries in found for query in queries}
    assert min(lengths) < 4
    assert max(lengths) == 11


def test_text_depends_on_no_batch_order_window_or_number_of_queries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = made(folder)
    assert len({tuple(queries) for queries in expected}) == len(TEXTS)
    assert made(folder, budget="auto") == expected
    assert made(folder, budget=1) == expected
    order = [5, 2, 9]
    assert made(folder, [TEXTS[row] for row in order], [IDS[row] for row in order]) == [expected[row] for row in order]
    monkeypatch.setattr(loading, "WINDOW_TEXTS", 4)
    monkeypatch.setattr(writer, "FEWER", 0.0)  # no text leaves a batch
    assert made(folder) == expected
    monkeypatch.setattr(writer, "FEWER", 1.0)  # every one does at once
    assert made(folder) == expected
    monkeypatch.setitem(writer.TEXTS, "cpu", 1)
    more = made(folder, queries=9)
    assert [queries[: len(few)] for queries, few in zip(more, expected, strict=True)] == expected
    assert made(folder, seed=1) != expected
    assert made(folder, ids=[f"e{i}" for i in range(len(TEXTS))]) != expected


def test_what_is_done_is_left_out_and_batches_stay(folder: Path) -> None:
    reader = writer_of(folder, queries=2)
    parts = list(reader.parts(IDS, TEXTS))
    assert len(parts) > 4
    rest = list(reader.parts(IDS, TEXTS, {row for part in parts[:2] for row in part.rows.tolist()}))
    assert [part.rows.tolist() for part in rest] == [part.rows.tolist() for part in parts[2:]]
    assert [part.values for part in rest] == [part.values for part in parts[2:]]


def test_documents_without_text_and_empty_queries_are_counted(folder: Path, tmp_path: Path) -> None:
    reader = writer_of(folder, queries=2)
    parts = list(reader.parts(["a", "b", "c"], ["", "w1 w2", " \t"]))
    assert [(part.rows.tolist(), len(part.values)) for part in parts] == [([0, 2], 2), ([1], 1)]
    assert parts[0].counts == {"documents_without_text": 2}
    silent = save_tiny_t5(tmp_path)
    model = AutoModelForSeq2SeqLM.from_pretrained(silent)
    model.generation_config.eos_token_id = list(range(model.config.vocab_size))  # whatever is drawn ends a text
    model.generation_config.save_pretrained(silent)
    reader = writer_of(silent, top_k=1000)
    (part,) = reader.parts(["a"], ["w1"])
    assert part.counts["added_queries"] + part.counts["empty_queries"] == 40
    assert part.counts["empty_queries"] > 0 or all(part.values[0])
    assert len(part.values[0]) == part.counts["added_queries"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"no_repeat_ngram_size": 2}, "asks for no_repeat_ngram_size 2 when it writes"),
        ({"suppress_tokens": [3]}, "asks for suppress_tokens"),
        ({"eos_token_id": None}, "does not say which tokens begin and end a text"),
    ],
)
def test_a_model_that_asks_for_more_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    folder = save_tiny_t5(tmp_path)
    change_json(folder / "generation_config.json", **changes)
    with pytest.raises(ModelError, match=said):
        made(folder)


def test_weights_that_are_missing_or_another_kind_of_model_are_refused(tmp_path: Path) -> None:
    folder = save_tiny_t5(tmp_path)
    change_json(folder / "config.json", num_decoder_layers=3)
    with pytest.raises(ModelError, match=r"has no weights for decoder\.block\.2"):
        made(folder)
    change_json(folder / "config.json", model_type="bart")
    with pytest.raises(ModelError, match="says that the model is of the type 'bart'; queries are written by a T5"):
        made(folder)


def test_logits_that_are_no_numbers_are_refused_with_the_document(folder: Path) -> None:
    reader = writer_of(folder, queries=2)
    own = reader.model.encoder.embed_tokens.weight.data.clone()
    own[SPECIAL_WORD] = np.nan
    reader.model.encoder.embed_tokens.weight = torch.nn.Parameter(own)
    with pytest.raises(ModelError, match="the logits for document 'b' are infinity or not-a-number"):
        list(reader.parts(["a", "b"], ["w2 w3", "w1 w7"]))
