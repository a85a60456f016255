"""Tokenizers that lengthen texts without end are refused before any text is read, and usual ones are not."""

import base64
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from beirflow.core.errors import ModelError
from beirflow.models.tokenizer_growth import check_growth
from refusals import refused
from zoo import change_json

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEMPLATE = {"type": "TemplateProcessing", "special_tokens": {}, "pair": []}


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def several(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


def copies(*times: int) -> dict[str, Any]:
    """Templates, one after the other, that write a text some times."""
    texts = ([{"Sequence": {"id": "A", "type_id": 0}}] * count for count in times)
    return {"type": "Sequence", "processors": [{**TEMPLATE, "single": single} for single in texts]}


def table(*texts: str) -> dict[str, Any]:
    """A table of sentencepiece with some texts."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes(4) + "\0".join(texts).encode()).decode()}


BOMBS: dict[str, dict[str, Any]] = {
    "doubled forty times": {"normalizer": several(*[replace("ee", String="e")] * 40)},
    "doubled seven times": {"normalizer": several(*[replace("ee", String="e")] * 7)},
    "a rare word": {"normalizer": several(*[replace("zqxzqx", String="zqx")] * 40)},
    "a rare letter, by turns": {"normalizer": several(*[replace("ȣȣȣ", String="ȸ"), replace("ȸȸ", String="ȣ")] * 20)},
    "by expressions": {"normalizer": several(*[replace("ee", Regex="[a-f]")] * 40)},
    "by places": {"normalizer": several(*[replace("e", Regex="(?=e)")] * 40)},
    "nested": {"normalizer": several(several(*[replace("ee", String="e")] * 20), several(*[replace("ee", String="e")] * 20))},
    "by forms of Unicode": {"normalizer": several(*[replace("ﷺ", String="م"), {"type": "NFKD"}] * 20)},
    "between the steps": {
        "normalizer": replace("ee" * 20, String="e"),
        "pre_tokenizer": BYTES | {"type": "Sequence", "pretokenizers": [BYTES] * 40},
    },
    "bytes of bytes": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTES] * 40}},
    "at once": {"normalizer": replace("e" * 10**6, String="e")},
    "at once before": {"normalizer": {"type": "Prepend", "prepend": "e" * 10**6}},
    "at once by a table": {"normalizer": table("e" * 10**6)},
    "too many steps": {"normalizer": several(*[{"type": "Lowercase"}] * 5000)},
    "by templates": {"post_processor": copies(*[2] * 40)},
    "by one template": {"post_processor": copies(100)},
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_tokenizer_that_lengthens_texts_without_end_is_refused(own_bert: Path, case: str) -> None:
    change_json(own_bert / "tokenizer.json", **BOMBS[case])
    with refused(ModelError, str(own_bert / "tokenizer.json"), "Do not use this model"):
        check_growth(own_bert)


USUAL: dict[str, dict[str, Any]] = {
    "ALBERT": {
        "normalizer": several(
            *[replace('"', String="``"), replace('"', String="''"), {"type": "NFKD"}, {"type": "StripAccents"}],
            *[{"type": "Lowercase"}, replace("▁", Regex=" {2,}")],
        )
    },
    "Gemma": {"normalizer": replace("▁", String=" ")},
    "Llama": {"normalizer": several({"type": "Prepend", "prepend": "▁"}, replace("▁", String=" "))},
    "names of signs": {"normalizer": several(replace("<|newline|>", String="\n"), replace("<|tab|>", String="\t"))},
    "a table of letters": {"normalizer": several(*[replace(chr(1072 + n), String=chr(97 + n)) for n in range(26)])},
    "GPT-2": {"normalizer": {"type": "NFKC"}, "pre_tokenizer": BYTES},
    "special tokens": {"post_processor": copies(1)},
    "none": {"normalizer": None, "pre_tokenizer": None, "post_processor": None},
}


@pytest.mark.parametrize("case", USUAL)
def test_a_usual_tokenizer_is_accepted(own_bert: Path, case: str) -> None:
    change_json(own_bert / "tokenizer.json", **USUAL[case])
    Tokenizer.from_file(str(own_bert / "tokenizer.json"))
    check_growth(own_bert)


def test_what_is_no_tokenizer_is_left_to_the_library_that_reads_it(tmp_path: Path) -> None:
    check_growth(tmp_path)
    for content in ("{", "[]", "5", '{"normalizer": [{"type": "Replace"}]}', '{"normalizer": {"type": "Replace", "content": 5}}'):
        (tmp_path / "tokenizer.json").write_text(content)
        check_growth(tmp_path)
