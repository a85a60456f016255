"""Scores are log p of the word that means relevant, as transformers' own classes give it for each pair by itself."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, T5ForConditionalGeneration

from beirflow.core.errors import ModelError
from beirflow.extensions.expansions.loading import load_model
from beirflow.families.expansions.settings import Expansion
from beirflow.families.rerank.scorers.pair_scorer import PairScorer
from beirflow.families.rerank.scorers.prompts import INSTRUCTION, MONO_T5
from beirflow.models.model_layout import TOKENIZER_FILES
from loaded_scorers import ROUNDING, loaded
from tiny_answers import save_tiny_monot5, save_tiny_qwen3
from tiny_bert import WORDS, change_weights, having, without
from workflow_runs import words

PAIRS = [(words(i, 1 + i % 9), words(50 + i, (7 * i) % 50)) for i in range(30)]
PAIRS += [("", ""), ("what is foo?", "foo  is\na bar. "), ("w1 yes", "no true false Relevant: w2")]


def asked(folder: Path, *how: Any, **settings: Any) -> PairScorer:
    kind = "monot5" if "T5" in (folder / "config.json").read_text() else "qwen3-reranker"
    return loaded(folder, *how, kind=kind, **settings)


@cache
def by_transformers(kind: Any, folder: Path) -> tuple[Any, Any]:
    """Tokenizer and model."""
    return AutoTokenizer.from_pretrained(folder), kind.from_pretrained(folder).eval()


@torch.inference_mode()
def by_t5(folder: Path, query: str, document: str) -> float:
    """One decoder step of transformers' T5."""
    _, model = by_transformers(T5ForConditionalGeneration, folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = torch.tensor([tokenizer.encode(f"Query: {query} Document: {document} Relevant:").ids])
    logits = model(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    both = torch.stack([logits[tokenizer.token_to_id(piece)] for piece in ("▁true", "▁false")]).double()
    return float(torch.log_softmax(both, dim=0)[0])


@torch.inference_mode()
def by_qwen3(folder: Path, query: str, document: str, instruction: str = INSTRUCTION, room: int = 8192) -> float:
    """As the model card does it: three parts, padded at the left, and the logits of the last token."""
    tokenizer, model = by_transformers(AutoModelForCausalLM, folder)
    system = (
        "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can"
        ' only be "yes" or "no".'
    )
    before = tokenizer.encode(f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n", add_special_tokens=False)
    after = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", add_special_tokens=False)
    pair = tokenizer(f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}", truncation=True, max_length=room)
    ids = [*before, *pair["input_ids"], *after]
    mask = torch.tensor([[0] * 5 + [1] * len(ids)])
    logits = model(input_ids=torch.tensor([[0] * 5 + ids]), attention_mask=mask).logits[0, -1]
    both = torch.stack([logits[tokenizer.convert_tokens_to_ids(word)] for word in ("no", "yes")]).double()
    return float(torch.log_softmax(both, dim=0)[1])


@pytest.fixture(scope="session")
def monot5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_monot5(tmp_path_factory.mktemp("answers") / "monot5")


@pytest.fixture(scope="session")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_qwen3(tmp_path_factory.mktemp("answers") / "qwen3")


def test_scores_are_those_of_one_step_of_t5_and_of_the_card_of_qwen3(monot5: Path, qwen3: Path, tmp_path: Path) -> None:
    """A T5 of version 1.1 has a last layer of its own."""
    gated = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "initializer_factor": 0.5}
    for folder, score in ((monot5, by_t5), (save_tiny_monot5(tmp_path, **gated), by_t5), (qwen3, by_qwen3)):
        found, expected = asked(folder).scores(PAIRS), [score(folder, *pair) for pair in PAIRS]
        assert found.dtype == np.float32
        assert np.ptp(expected) > 0.2
        np.testing.assert_allclose(found, expected, **ROUNDING)


def test_an_instruction_is_written_into_the_prompt(qwen3: Path) -> None:
    pair = ("w1 w2", "w3")
    found = asked(qwen3, instruction="Find {w5}").scores([pair])[0]
    assert found == pytest.approx(by_qwen3(qwen3, *pair, instruction="Find {w5}"), abs=1e-5)
    assert abs(found - by_qwen3(qwen3, *pair)) > 1e-3


def test_batches_and_windows_change_no_more_than_rounding(monot5: Path, qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (monot5, qwen3):
        expected = asked(folder).scores(PAIRS)
        np.testing.assert_allclose(asked(folder, "float32", 200).scores(PAIRS), expected, **ROUNDING)
        with monkeypatch.context() as patch:
            patch.setattr(PairScorer, "window", 7)
            np.testing.assert_allclose(asked(folder, "float32", 900).scores(PAIRS), expected, **ROUNDING)


def test_the_document_is_cut_and_never_the_question(monot5: Path) -> None:
    query, long = words(1, 6), words(30, 700)
    model = asked(monot5)
    found = model.scores([(query, long)])
    assert (model.max_length, model.truncated, model.tokens) == (512, 1, 512)
    kept = 512 - len(["Query", ":", "Document", ":", "Re", "levant", ":", "</s>"]) - 6
    assert found[0] == pytest.approx(by_t5(monot5, query, " ".join(long.split()[:kept])), abs=1e-5)


def test_a_query_that_takes_more_than_half_of_the_room_is_cut_too(monot5: Path) -> None:
    query, document = words(1, 60), words(90, 50)
    room = 40 - len(["Query", ":", "Document", ":", "Re", "levant", ":", "</s>"])
    for length, other in ((60, 50), (60, 5), (5, 60)):
        of_query = min(length, max(room - other, room // 2))
        pair = " ".join(query.split()[:length]), " ".join(document.split()[:other])
        cut = " ".join(pair[0].split()[:of_query]), " ".join(pair[1].split()[: room - of_query])
        assert asked(monot5, max_length=40).scores([pair])[0] == pytest.approx(by_t5(monot5, *cut), abs=1e-5)


def test_a_long_pair_of_qwen3_is_cut_where_its_card_cuts_it(qwen3: Path) -> None:
    model = asked(qwen3, max_length=700)
    own = len(model.pairs.before) + len(model.pairs.after)  # type: ignore[union-attr]
    pair = ("w1 w2", words(30, 400) + "?\n")
    assert model.scores([pair])[0] == pytest.approx(by_qwen3(qwen3, *pair, room=700 - own), abs=1e-5)
    assert (model.truncated, asked(qwen3).max_length) == (1, 4096)


def test_scores_of_answers_that_are_sure_do_not_tie(qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = asked(qwen3)
    sure = torch.tensor([[30.0, 0.0], [31.0, 0.0], [0.0, 200.0]])
    monkeypatch.setattr(model, "_logits", lambda **inputs: sure)
    np.testing.assert_allclose(model.scores(PAIRS[:1] * 3), [-np.exp(-30.0), -np.exp(-31.0), -200], rtol=1e-6)


def test_half_precision_gives_scores_of_float32_that_do_not_tie(monot5: Path, qwen3: Path) -> None:
    for folder in (monot5, qwen3):
        exact, found = asked(folder).scores(PAIRS), asked(folder, "bfloat16").scores(PAIRS)
        assert len(set(found.tolist())) > 0.9 * len(set(exact.tolist()))
        assert float(np.abs(found - exact).max()) < 0.3 * np.ptp(exact)


def test_words_that_are_no_single_token_and_a_length_without_room_are_refused(tmp_path: Path, monot5: Path) -> None:
    with pytest.raises(ModelError, match="has no single token for 'true', which the model would answer"):
        asked(save_tiny_monot5(tmp_path / "t5", words=("▁yes", "▁no")))
    with pytest.raises(ModelError, match="has no single token for 'no'"):
        asked(save_tiny_qwen3(tmp_path / "qwen3", words=("yes",)))
    with pytest.raises(ModelError, match="max_length is 9, and the question alone has 8 tokens"):
        asked(monot5, max_length=9)


def test_a_model_that_answers_something_else_is_recorded_as_taken_for_one_of_its_kind(tmp_path: Path) -> None:
    folder = save_tiny_qwen3(tmp_path, tie_word_embeddings=False)
    (sentence,) = asked(folder).made()["assumed"]
    assert sentence.startswith(
        "crossed: its model is a reranker that answers 'yes' or 'no', as 'kind' says, although it answers "
    )
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    head = torch.zeros_like(load_file(folder / "model.safetensors")["lm_head.weight"])
    head[vocabulary["yes"]], head[vocabulary["no"]] = 1, -1  # one of the two, whichever
    change_weights(folder, having("lm_head.weight", head))
    assert "assumed" not in asked(folder).made()


def test_weights_that_are_missing_are_refused(tmp_path: Path) -> None:
    folder = save_tiny_qwen3(tmp_path)
    change_weights(folder, without("model.norm"))
    with pytest.raises(ModelError, match="has no weights for"):
        asked(folder)


SPIECE_PAIRS = [("w1 w2", "w3  w4."), ("", ""), ("true?", "a ﬁne w12, ☃ false"), ("w5", " ".join(WORDS[:150] * 5))]


@pytest.fixture(scope="module")
def spiece(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_a_reranker_reads_what_sentencepiece_reads_and_scores_as_with_a_fast_tokenizer(spiece: Path, tmp_path: Path) -> None:
    own = SentencePieceProcessor(model_file=str(spiece / "spiece.model"))
    scorer = loaded(spiece, kind="monot5")
    for pair, ids in zip(SPIECE_PAIRS[:3], scorer.pairs.read(SPIECE_PAIRS)[0], strict=False):
        assert ids == [*own.encode(MONO_T5.text(*pair)), own.eos_id()]
    for path in spiece.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    AutoTokenizer.from_pretrained(spiece).save_pretrained(tmp_path)
    (tmp_path / "spiece.model").unlink()
    assert (tmp_path / "tokenizer.json").is_file()
    scores, expected = (each.scores(SPIECE_PAIRS) for each in (scorer, loaded(tmp_path, kind="monot5")))
    np.testing.assert_array_equal(scores, expected)


def test_a_model_that_writes_queries_reads_it_too(spiece: Path) -> None:
    tokenizer, _ = load_model(AutoModelForSeq2SeqLM, Expansion(model=str(spiece)), spiece, torch.float32)
    own = SentencePieceProcessor(model_file=str(spiece / "spiece.model"))
    for text in ("w1 w2, true", " what  is ☃ w9"):
        assert tokenizer(text)["input_ids"] == [*own.encode(text), own.eos_id()]
