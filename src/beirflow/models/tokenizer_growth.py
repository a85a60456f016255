"""A bound on what the steps of ``tokenizer.json`` make of a text: chained, a few lines of JSON can double it forty times."""

import base64
import json
import string
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.core.outside_json import parse_json
from beirflow.models.model_json import check_file

TOKENIZER = "tokenizer.json"
LARGEST_TOKENIZER = 256 << 20  # maximum size of the file, in bytes; 35 MB is usual for large vocabularies

MOST_STEPS, LONGEST_CONTENT = 1000, 1000  # maximum of the steps, and of the characters that a step writes for others
MOST_GROWTH = 64
"""Largest number of characters that steps may make of one, or of copies of a text. Forms of Unicode make at most 18 of one, and
names of signs, such as ``<|newline|>``, are not much longer."""

PROBES = (
    string.printable,
    "naïve Ünïcödé café e\u0301 İ ß",
    "ﷺ",
    "㍿ ﬁ ½ ① ™",
    "漢字 テスト 한국어 ไทย العربية हिन्दी",
    "👩\u200d🚀 “x” …",
)
CHANGING = ("normalizer", "pre_tokenizer")
PARTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors"}
"""Parts of a tokenizer that change texts, each with the key of its list of steps."""


def check_growth(folder: Path) -> None:
    """Refuse a tokenizer whose steps lengthen texts beyond any use; accept a folder without ``tokenizer.json``.

    The job that loads the tokenizer reports what cannot be read as one.
    """
    path = folder / TOKENIZER
    if path.is_file():
        status = path.stat()
        _check(path, status.st_size, status.st_mtime_ns)


@cache
def _check(path: Path, size: int, changed: int) -> None:
    """Check the file, once for each of its states."""
    check_file(path, LARGEST_TOKENIZER)
    try:
        described = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return
    described = described if isinstance(described, dict) else {}
    steps = {part: list(_steps(described.get(part), several)) for part, several in PARTS.items()}
    if (many := sum(map(len, steps.values()))) > MOST_STEPS:
        raise ModelError(f"{path} has {many} steps; at most {MOST_STEPS} were expected. Do not use this model")
    changing = [(part, step) for part in CHANGING for step in steps[part]]
    longest = max((len(text) for _, step in changing for text in _written(step)), default=0)
    if longest > LONGEST_CONTENT:
        problem = f"{path} has a step that writes {longest:,} characters at once"
        raise ModelError(f"{problem}; at most {LONGEST_CONTENT} were expected. Do not use this model")
    copies = prod(max(1, _copies(step)) for step in steps["post_processor"])
    if copies > MOST_GROWTH or _is_too_long(changing):
        problem = f"{path}: its steps make a text more than {MOST_GROWTH} times as long"
        raise ModelError(f"{problem}, for which no memory is enough. Do not use this model")


def _steps(part: Any, several: str) -> Iterator[dict[str, Any]]:
    """Yield the steps of a part in their order, without the sequences around them."""
    waiting = [part]
    while waiting:
        step = waiting.pop()
        if isinstance(step, dict) and isinstance(step.get(several), list):
            waiting += reversed(step[several])
        elif isinstance(step, dict):
            yield step


def _written(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that a step writes."""
    yield from (text for key in ("content", "prepend", "replacement") if isinstance(text := step.get(key), str))
    yield max(_mapped(step).split("\0"), key=len)


def _looked_for(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that a step looks for, as far as they are known: it may lengthen these and no others."""
    pattern = step.get("pattern")
    yield from (text for text in pattern.values() if isinstance(text, str)) if isinstance(pattern, dict) else ()
    characters = sorted({*_mapped(step)} - {"\0"})
    yield from ("".join(characters[start : start + 500]) for start in range(0, len(characters), 500))


def _mapped(step: Mapping[str, Any]) -> str:
    """Return the texts in the table of a step of sentencepiece, with zeros between them; empty without one."""
    try:
        table = base64.b64decode(step.get("precompiled_charsmap") or "")
    except (TypeError, ValueError):
        return ""
    return table[4 + int.from_bytes(table[:4], "little") :].decode(errors="ignore")


def _copies(step: Mapping[str, Any]) -> int:
    """Return how often a template writes the text."""
    items = step.get("single")
    return sum(isinstance(item, dict) and "Sequence" in item for item in items) if isinstance(items, list) else 1


def _is_too_long(steps: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Apply the steps to probes, one step after the other, until a text is too long."""
    kinds = [step.get("type") for _, step in steps]
    if len({*kinds}) == len(kinds) and not {*kinds} & {"Replace", "Precompiled"}:
        return False  # one step of each kind, none of which lengthens a text much
    probes = {*PROBES, *(text for _, step in steps for text in (*_looked_for(step), *_written(step)))}
    try:
        apply = [partial(_applied, _made(part, step)) for part, step in steps]
        for probe in probes:
            text = probe
            for step in apply:
                text = step(text)
                if len(text) > MOST_GROWTH * max(len(probe), 1):
                    return True
    except Exception:  # tokenizers raises Exception itself; the job that loads the model says why
        return False
    return False


def _made(part: str, step: Mapping[str, Any]) -> Any:
    """Return the normalizer or pre-tokenizer that a step describes."""
    from tokenizers import normalizers, pre_tokenizers

    made: Any = normalizers.NFC() if part == "normalizer" else pre_tokenizers.Whitespace()
    made.__setstate__(json.dumps(step).encode())
    return made


def _applied(step: Any, text: str) -> str:
    if hasattr(step, "normalize_str"):
        return str(step.normalize_str(text))
    return "".join(piece for piece, _ in step.pre_tokenize_str(text))
