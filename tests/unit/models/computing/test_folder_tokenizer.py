"""Tokens are those of tokenizer.json and the flags, as transformers 4.57.6 gives them.

That version cannot be installed beside the tested one: ``OF_VERSION_4`` has ids that its AutoTokenizer gave for the folders that
are written here. All other expected ids are those of the tokenizers library for tokenizer.json, changed by the rule of a flag.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer

from beirflow.core.errors import ModelError
from beirflow.models.computing import loading
from beirflow.models.computing.folder_tokenizer import PROBE_PAIRS, PROBES, assumed_tokens, assumed_types, tokenizer_of
from beirflow.models.computing.loading import loading_from

TEXT = "Éggs ﬁn  a 2023 漢"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<unk>", "<pad>", "<mask>"]
LETTERS = "abcdefghinsgEÉéﬁ0123漢_"
NAMED = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
OF_ROBERTA = {"cls_token": "<s>", "sep_token": "</s>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def with_ends(tokenizer: Tokenizer, first: str, last: str, types: int = 1) -> Tokenizer:
    ends = [(token, tokenizer.token_to_id(token)) for token in (first, last) if token]
    single = f"{first}:0 $A:0 {last + ':0' if last else ''}".strip()
    pair = f"{single} $B:{types} {last + f':{types}' if last else ''}".strip()
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ends)
    return tokenizer


def word_pieces(normalizer: Any = None, first: str = "[CLS]", last: str = "[SEP]") -> Tokenizer:
    pieces = [*SPECIAL, *dict.fromkeys([*LETTERS, *(f"##{letter}" for letter in LETTERS), "eggs", "fin", "2023"])]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer or normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL[:5])
    return with_ends(tokenizer, first, last)


def byte_pairs(pre_tokenizer: Any = None, normalizer: Any = None) -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("g", "g"), ("Ġ", "a"), ("2", "0")]
    pieces = [*SPECIAL, *alphabet, *("".join(merge) for merge in merges)]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return with_ends(tokenizer, "<s>", "</s>", 0)


def of_sentencepiece(first: str = "<s>", last: str = "") -> Tokenizer:
    pieces = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *dict.fromkeys(LETTERS), "gg", "▁a"]
    merges = [("g", "g"), ("▁", "a")]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.add_special_tokens(SPECIAL)
    return with_ends(tokenizer, first, last)


def of_scores(**parts: Any) -> Tokenizer:
    pieces = [
        *((token, 0.0) for token in SPECIAL),
        *((piece, -1.0) for piece in dict.fromkeys(["▁", *LETTERS, "gg", "▁a", "fi"])),
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(SPECIAL)
    return with_ends(tokenizer, "[CLS]", "[SEP]")


def changed(**parts: Any) -> Callable[[Tokenizer], Tokenizer]:
    def change(tokenizer: Tokenizer) -> Tokenizer:
        for name, part in parts.items():
            setattr(tokenizer, name, part)
        return tokenizer

    return change


def unchanged(tokenizer: Tokenizer) -> Tokenizer:
    return tokenizer


def ended(first: str, last: str) -> Callable[[Tokenizer], Tokenizer]:
    def change(tokenizer: Tokenizer) -> Tokenizer:
        ends = [(token, tokenizer.token_to_id(token)) for token in (first, last) if token]
        single, other = (
            [f"{token}:{number}" for token in (first, text, last) if token] for number, text in ((0, "$A"), (1, "$B"))
        )
        tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=single + other, special_tokens=ends)
        return tokenizer

    return change


BERT, LLAMA = "BertTokenizer", "LlamaTokenizer"
DIGITS = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
)
KEPT = pre_tokenizers.ByteLevel(add_prefix_space=True)
CASED = normalizers.BertNormalizer(lowercase=False)

CASES: dict[str, tuple[Tokenizer, str | None, str, dict[str, Any], Callable[[Tokenizer], Tokenizer]]] = {
    # name: tokenizer.json, class, type of the model, further flags, and what the flags change
    "bert": (word_pieces(), BERT, "bert", NAMED, unchanged),
    "bert without a class": (word_pieces(), None, "bert", NAMED, unchanged),
    "bert, flag against file": (word_pieces(), BERT, "bert", NAMED | {"do_lower_case": False}, changed(normalizer=CASED)),
    "bert, no flag, cased file": (word_pieces(CASED), BERT, "bert", NAMED, changed(normalizer=normalizers.BertNormalizer())),
    "electra, accents": (
        *(word_pieces(), "ElectraTokenizerFast", "electra", NAMED | {"strip_accents": False}),
        changed(normalizer=normalizers.BertNormalizer(strip_accents=False)),
    ),
    "bert, Chinese": (
        *(word_pieces(), BERT, "bert", NAMED | {"tokenize_chinese_chars": False}),
        changed(normalizer=normalizers.BertNormalizer(handle_chinese_chars=False)),
    ),
    "bert, another normaliser": (word_pieces(normalizers.Sequence([normalizers.NFKC(), CASED])), BERT, "bert", NAMED, unchanged),
    "bert, one end": (word_pieces(last=""), BERT, "bert", NAMED, unchanged),
    "any class, flags without meaning": (word_pieces(), "PreTrainedTokenizerFast", "bert", {"do_lower_case": False}, unchanged),
    "roberta with word pieces": (word_pieces(), "RobertaTokenizer", "roberta", NAMED, unchanged),
    "roberta, lower case": (byte_pairs(normalizer=normalizers.Lowercase()), "RobertaTokenizer", "roberta", OF_ROBERTA, unchanged),
    "roberta, blank": (
        *(byte_pairs(), "RobertaTokenizer", "roberta", OF_ROBERTA | {"add_prefix_space": True}),
        changed(pre_tokenizer=KEPT),
    ),
    "gpt2 with digits": (byte_pairs(DIGITS), "GPT2Tokenizer", "gpt2", OF_ROBERTA, unchanged),
    "gpt2, blank of the file": (
        *(byte_pairs(KEPT), "GPT2Tokenizer", "gpt2", OF_ROBERTA),
        changed(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False)),
    ),
    "qwen2": (byte_pairs(DIGITS, normalizers.NFC()), "Qwen2Tokenizer", "qwen3", OF_ROBERTA, unchanged),
    "neox, ends": (byte_pairs(), "GPTNeoXTokenizer", "gpt_neox", OF_ROBERTA | {"add_eos_token": True}, ended("", "</s>")),
    "neox, no flags": (byte_pairs(), "GPTNeoXTokenizer", "gpt_neox", OF_ROBERTA, ended("", "")),
    "bloom, blank": (
        *(byte_pairs(DIGITS), "BloomTokenizerFast", "bloom", OF_ROBERTA | {"add_prefix_space": True}),
        changed(pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), KEPT])),
    ),
    "llama": (of_sentencepiece(), LLAMA, "llama", OF_ROBERTA, ended("<s>", "")),
    "e5-mistral": (of_sentencepiece(), LLAMA, "mistral", OF_ROBERTA | {"add_eos_token": True}, ended("<s>", "</s>")),
    "mistral, both": (
        *(of_sentencepiece(), LLAMA, "mistral", OF_ROBERTA | {"add_bos_token": True, "add_eos_token": True}),
        ended("<s>", "</s>"),
    ),
    "mistral, the last alone": (
        *(of_sentencepiece(), LLAMA, "mistral", OF_ROBERTA | {"add_bos_token": False, "add_eos_token": True}),
        ended("", "</s>"),
    ),
    "mistral without a class": (of_sentencepiece(), None, "mistral", OF_ROBERTA | {"add_eos_token": True}, ended("<s>", "</s>")),
    "gemma, ends": (of_sentencepiece(), "GemmaTokenizer", "gemma2", OF_ROBERTA | {"add_eos_token": True}, ended("<s>", "</s>")),
    "llama of scores": (of_scores(), LLAMA, "llama", OF_ROBERTA, ended("<s>", "")),
    "llama of bytes": (byte_pairs(DIGITS), "LlamaTokenizerFast", "llama", OF_ROBERTA, ended("<s>", "")),
    "llama 3, flags without meaning": (
        *(byte_pairs(DIGITS), "PreTrainedTokenizerFast", "llama", OF_ROBERTA | {"add_eos_token": False}),
        unchanged,
    ),
    "deberta": (of_scores(), "DebertaV2Tokenizer", "deberta-v2", NAMED, unchanged),
    "albert": (of_scores(), "AlbertTokenizer", "albert", NAMED, unchanged),
    "xlm-roberta": (of_scores(), "XLMRobertaTokenizer", "xlm-roberta", OF_ROBERTA, unchanged),
    "t5": (of_scores(), "T5Tokenizer", "t5", OF_ROBERTA | {"extra_ids": 0}, unchanged),
    "written by version 5": (of_sentencepiece(last="</s>"), LLAMA, "llama", OF_ROBERTA | {"backend": "tokenizers"}, unchanged),
}

WORDS = [2, 52, 24, 40, 10, 54, 29]
PIECES = [266, 279, 288, 277, 266, 281, 276, 266, 289, 266, 284, 282, 284, 285, 266, 286]
SCORED = [10, 23, 32, 21, 10, 34, 20, 10, 33, 10, 28, 26, 28, 29, 10, 30]
BYTES, LAST = [137, 241, 266, 92, 230, 181, 115, 233, 87, 230, 267, 230], [230, 172, 130, 105]
YEAR, DIGITS_OF_YEAR = [268, 27, 28], [27, 25, 27, 28]
OF_VERSION_4: dict[str, list[int]] = {
    **{key: [*WORDS, 3] for key in ("bert", "bert without a class", "bert, no flag, cased file", "bert, Chinese")},
    **{key: [*WORDS, 3] for key in ("any class, flags without meaning", "roberta with word pieces")},
    "bert, flag against file": [2, 22, 37, 37, 41, 24, 40, 10, 54, 29, 3],
    "electra, accents": [2, 23, 37, 37, 41, 24, 40, 10, 54, 29, 3],
    "bert, another normaliser": [2, 22, 37, 37, 41, 53, 10, 54, 29, 3],
    "bert, one end": WORDS,
    "roberta, lower case": [5, 137, 112, *BYTES[2:], *YEAR, *LAST, 6],
    "roberta, blank": [5, 230, *BYTES, *YEAR, *LAST, 6],
    "gpt2 with digits": [5, *BYTES, *DIGITS_OF_YEAR, *LAST, 6],
    "gpt2, blank of the file": [5, *BYTES, *YEAR, *LAST, 6],
    "qwen2": [5, *BYTES, *DIGITS_OF_YEAR, *LAST, 6],
    "neox, ends": [*BYTES, *YEAR, *LAST, 6],
    "neox, no flags": [*BYTES, *YEAR, *LAST],
    "bloom, blank": [5, 230, *BYTES, 230, 27, 230, 25, 230, 27, 230, 28, *LAST, 6],
    "llama": [5, *PIECES],
    **{key: [5, *PIECES, 6] for key in ("e5-mistral", "mistral, both", "mistral without a class", "gemma, ends")},
    "mistral, the last alone": [*PIECES, 6],
    "llama of scores": [5, *SCORED],
    "llama of bytes": [5, *BYTES, *DIGITS_OF_YEAR, *LAST],
    "llama 3, flags without meaning": [5, *BYTES, *DIGITS_OF_YEAR, *LAST, 6],
    **{key: [2, *SCORED, 3] for key in ("deberta", "albert", "xlm-roberta", "t5")},
}
"""Ids of TEXT that AutoTokenizer of transformers 4.57.6 gave for the folders of CASES but the last, which it does not write."""


def save(folder: Path, tokenizer: Tokenizer, named: str | None, kind: str, flags: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = ({"tokenizer_class": named} if named else {}) | flags
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    return folder


def save_case(folder: Path, case: str) -> Path:
    return save(folder, *CASES[case][:4])


def ids_of(fast: Tokenizer) -> list[list[int]]:
    return [*(fast.encode(text).ids for text in (*PROBES, TEXT)), *(fast.encode(*pair).ids for pair in PROBE_PAIRS)]


@pytest.mark.parametrize("case", CASES)
def test_tokens_are_those_of_the_file_and_the_flags(tmp_path, case):
    folder = save_case(tmp_path / "model", case)
    tokenizer = tokenizer_of(folder)
    expected = CASES[case][4](Tokenizer.from_file(str(folder / "tokenizer.json")))
    assert ids_of(tokenizer.backend_tokenizer) == ids_of(expected)
    assert tokenizer(TEXT)["input_ids"] == OF_VERSION_4.get(case, expected.encode(TEXT).ids)


def test_every_folder_that_version_4_writes_is_compared_with_it():
    assert OF_VERSION_4.keys() == CASES.keys() - {"written by version 5"}


@pytest.mark.parametrize(("case", "differs"), [("bert", False), ("e5-mistral", True), ("roberta with word pieces", True)])
def test_a_class_that_would_give_other_tokens_is_recorded(tmp_path, case, differs):
    tokenizer = tokenizer_of(save_case(tmp_path / "model", case))
    assert [sentence.partition(":")[0] for sentence in assumed_tokens("mine", tokenizer)] == ["mine"] * differs


def test_limits_of_the_file_are_no_limits_and_names_and_lengths_are_kept(tmp_path):
    limited = word_pieces()
    limited.enable_truncation(4)
    limited.enable_padding(length=16)
    flags = NAMED | {"model_max_length": 77, "padding_side": "left", "chat_template": "{{ messages }}"}
    tokenizer = tokenizer_of(save(tmp_path / "model", limited, "BertTokenizer", "bert", flags))
    assert tokenizer.backend_tokenizer.encode(TEXT).ids == word_pieces().encode(TEXT).ids
    kept = tokenizer.model_max_length, tokenizer.padding_side, tokenizer.chat_template, tokenizer.mask_token_id
    assert kept == (77, "left", "{{ messages }}", 4)


def test_tokens_that_a_configuration_adds_are_tokens(tmp_path):
    added = {"content": "eggs fin", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False}
    tokenizer = word_pieces()
    number = tokenizer.get_vocab_size()
    flags = NAMED | {"added_tokens_decoder": {str(number): added}}
    folder = save(tmp_path / "model", tokenizer, "BertTokenizer", "bert", flags)
    assert tokenizer_of(folder)("eggs fin")["input_ids"] == [2, number, 3]


@pytest.mark.parametrize(
    ("named", "flags", "types"),
    [
        ("BertTokenizer", {}, True),
        ("AlbertTokenizer", {}, True),
        ("RemBertTokenizer", {}, True),
        ("PreTrainedTokenizerFast", {}, True),
        ("PreTrainedTokenizerFast", {"model_input_names": ["input_ids", "attention_mask"]}, False),
        ("RobertaTokenizer", {}, False),
        ("XLMRobertaTokenizer", {}, False),
    ],
)
def test_types_of_tokens_are_given_by_the_classes_of_version_4(tmp_path, named, flags, types):
    made = word_pieces() if named in ("BertTokenizer", "PreTrainedTokenizerFast", "RobertaTokenizer") else of_scores()
    tokenizer = tokenizer_of(save(tmp_path / "model", made, named, "bert", NAMED | flags))
    given = tokenizer("a", "b").get("token_type_ids")
    assert given == (made.encode("a", "b").type_ids if types else None)
    assert assumed_types("mine", tokenizer) == []


@pytest.mark.parametrize(
    ("case", "flags", "says"),
    [
        (
            "llama",
            {"tokenizer_class": "CohereTokenizer", "bos_token": None},
            "add_bos_token is true, but its tokenizer has no '<BOS_TOKEN>'",
        ),
        ("llama", {"add_prefix_space": False, "legacy": True}, "sets add_prefix_space and legacy otherwise than tokenizer.json"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path, case, flags, says):
    made, named, kind, own, _ = CASES[case]
    folder = save(tmp_path / "model", made, named, kind, own | flags)
    with pytest.raises(ModelError, match=says):
        tokenizer_of(folder)


def test_a_missing_normaliser_that_version_5_adds_is_refused(tmp_path):
    made = word_pieces()
    made.normalizer = None
    folder = save(tmp_path / "model", made, "BertTokenizer", "bert", NAMED)
    with pytest.raises(ModelError, match="has no normalizer, and its class, BertTokenizer, has one"):
        tokenizer_of(folder)
    assert AutoTokenizer.from_pretrained(folder).backend_tokenizer.normalizer is not None


@pytest.mark.parametrize("legacy", [True, False])
def test_a_sentencepiece_model_alone_gives_its_own_tokens_and_the_ends_of_the_flags(tmp_path, legacy):
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path / "model"
    folder.mkdir()
    texts = ["eggs and bacon", "a cup of flour", "fins of a fish", "2023 eggs", "and a pan of oil"] * 3
    how = {"model_type": "bpe", "vocab_size": 320, "byte_fallback": True, "normalization_rule_name": "identity"}
    prefix = str(folder / "tokenizer")
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_prefix=prefix, minloglevel=2, **how)
    (folder / "tokenizer.vocab").unlink()
    flags = {"tokenizer_class": LLAMA, "add_eos_token": True, "legacy": legacy}
    (folder / "tokenizer_config.json").write_text(
        json.dumps(flags | {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})
    )
    (folder / "config.json").write_text('{"model_type": "mistral"}')
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    tokenizer = tokenizer_of(folder)
    for text in (*texts[:5], "漢 é"):
        assert tokenizer(text)["input_ids"] == [1, *pieces.encode(text), 2]


def test_loading_refuses_code_and_old_versions(tmp_path, monkeypatch):
    folder = save_case(tmp_path / "model", "bert")
    with loading_from(folder):
        assert tokenizer_of(folder)("a")["input_ids"]
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "_attn_implementation_internal": "org/kernel"}))
    said = "_attn_implementation_internal 'org/kernel', code that transformers would fetch"
    with pytest.raises(ModelError, match=said), loading_from(folder):
        pytest.fail("not reached")
    monkeypatch.setattr(loading.transformers, "__version__", "5.2.1")
    with pytest.raises(ModelError, match=r"transformers 5.2.1 is installed.*at least 5.3 is needed"), loading_from(folder):
        pytest.fail("not reached")
