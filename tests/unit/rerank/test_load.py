"""A tokenizer that is a file of sentencepiece alone, as those of castorini's checkpoints, is read as sentencepiece reads it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from beirflow.expansions.loading import load_model
from beirflow.expansions.settings import Expansion
from beirflow.models.model_layout import TOKENIZER_FILES
from beirflow.rerank.scorers.prompts import MONO_T5
from loaded_scorers import loaded
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tiny_answers import save_tiny_monot5
from tiny_bert import WORDS
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

PAIRS = [("w1 w2", "w3  w4."), ("", ""), ("true?", "a ﬁne w12, ☃ false"), ("w5", " ".join(WORDS[:150] * 5))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 whose tokenizer was trained on some words, as one file; words that it must know are often there."""
    folder = save_tiny_monot5(tmp_path_factory.mktemp("spiece") / "model", vocab_size=320)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    text = folder.with_name("text.txt")
    text.write_text("\n".join(f"Query: {word} Document: true false {word} a.b, Relevant:" for word in WORDS[:100]))
    how = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "vocab_size": 36, "minloglevel": 2}
    how |= {"user_defined_symbols": ["▁true", "▁false"]}
    SentencePieceTrainer.train(input=str(text), model_prefix=str(folder / "spiece"), **how)
    (folder / "spiece.vocab").unlink()
    assert [name for name in TOKENIZER_FILES if (folder / name).is_file()] == ["spiece.model"]
    return folder


def test_a_reranker_reads_what_sentencepiece_reads_and_scores_as_with_a_fast_tokenizer(folder: Path, tmp_path: Path) -> None:
    own = SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    asked = loaded(folder, kind="monot5")
    for pair, ids in zip(PAIRS[:3], asked._read(PAIRS)[0], strict=False):
        assert ids == [*own.encode(MONO_T5.text(*pair)), own.eos_id()]
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    (tmp_path / "spiece.model").unlink()
    assert (tmp_path / "tokenizer.json").is_file()
    scores, expected = (each.scores(PAIRS) for each in (asked, loaded(tmp_path, kind="monot5")))
    np.testing.assert_array_equal(scores, expected)


def test_a_model_that_writes_queries_reads_it_too(folder: Path) -> None:
    tokenizer, _ = load_model(AutoModelForSeq2SeqLM, Expansion(model=str(folder)), folder, torch.float32)
    own = SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    for text in ("w1 w2, true", " what  is ☃ w9"):
        assert tokenizer(text)["input_ids"] == [*own.encode(text), own.eos_id()]
