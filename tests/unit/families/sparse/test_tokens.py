"""Documents with an expansion: the weights are those of the tokens that Pyserini has for them, whatever chunks and batches."""

import json
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError, ModelError
from beirflow.core.layout import EXPANSION, EXPANSION_RECORD, RUN_RECORD, TERM_WEIGHTS_RECORD
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.tokens import new_tokens
from beirflow.families.sparse.weigher import Weigher
from lexical_results import damage, rows_of
from model_results import SparseResults
from tiny_bert import SPECIAL, WORDS, save_tiny_bert
from tiny_sparse import save_unicoil, spread, unicoil_weights
from zoo import change_json

TEXT, EXPANSION_TOKENS = 20, 8
CLS, SEP, UNKNOWN = SPECIAL.index("[CLS]"), SPECIAL.index("[SEP]"), SPECIAL.index("[UNK]")
TOLERANCE = 1e-5

PAIRS = [
    ("w1 w2 w3", "w3 w9 w150 w9 w40"),
    ("w1 w2 w3", ""),
    ("", "w5 w6"),
    ("", ""),
    ("w7 w7 w8 unheard", "w7 never w8 w199 w0"),
    (" ".join(WORDS[:90]), " ".join(WORDS[15:60])),
    ("w1 w2 w3", "w60 w61"),
    (" ".join(WORDS[3:12]), " ".join(reversed(WORDS[100:120]))),
]
"""Texts, and what is added to each: tokens that the text has too, that repeat, that are unknown, too many; nothing."""


def ids_of(text: str) -> list[int]:
    return [len(SPECIAL) + WORDS.index(word) if word in WORDS else UNKNOWN for word in text.split()]


def joined(text: str, added: str) -> list[int]:
    """The tokens of a document, put together by hand; a set built one by one has the order of Pyserini's."""
    kept, new = ids_of(text)[:TEXT], set[int]()
    for token in ids_of(added)[:EXPANSION_TOKENS]:
        if token not in kept:
            new.add(token)
    return [CLS, *kept, SEP, *new, SEP]


@pytest.fixture(scope="module")
def unicoil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_unicoil(tmp_path_factory.mktemp("unicoil"))


def settings_of(unicoil: Path, **more: Any) -> SparseSettings:
    lengths = {"text_length": TEXT, "expansion_length": EXPANSION_TOKENS, "expansion": {"path": "/given/{dataset}.jsonl"}}
    return SparseSettings("u", model=str(unicoil), head="unicoil", **{**lengths, **more})


def weigher_of(settings: SparseSettings, budget: int | str = "auto") -> Weigher:
    part = read_parts(settings).documents
    return Weigher("u", part, device="cpu", precision="float32", token_budget=budget)


@pytest.mark.parametrize("token_budget", [1, "auto"])
def test_the_weights_are_those_of_text_and_new_tokens(
    unicoil: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token_budget: int | str
) -> None:
    bert = save_tiny_bert(tmp_path)
    expected = np.stack([unicoil_weights(bert, unicoil, joined(*pair)) for pair in PAIRS])
    monkeypatch.setattr(Weigher, "window", 3 if token_budget == 1 else 1024)
    weigher = weigher_of(settings_of(unicoil), token_budget)
    texts, added = map(list, zip(*PAIRS, strict=True))
    found = spread(Rows.together(list(weigher.windows(texts, "documents", added))))
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    assert (found > 0).sum() > 40
    tokens = sum(len(joined(*pair)) for pair in PAIRS)
    assert weigher.counts_of("documents") == {"tokens": tokens, "truncated_texts": 1, "truncated_expansions": 2}


def test_new_tokens_have_the_order_that_pyserini_gives_them() -> None:
    """As CPython 3.11 has it, so that a Python that orders a set of numbers in another way is noticed."""
    new = [19204, 102, 999, 7592, 1037, 2003, 30521]
    assert new_tokens([5, 2054], [2054, 2003, 1037, 2003, 19204, 5, 999, 30521, 102, 7592]) == new
    assert new_tokens([1], [1, 1]) == []


RANDOM = Random(3)
CORPUS = [
    (f"d{i}", RANDOM.choice(["", "w3", "w1 w2"]), " ".join(RANDOM.choices(WORDS[:40], k=RANDOM.randrange(0, 9))))
    for i in range(24)
]
ADDED = {doc_id: [" ".join(RANDOM.choices(WORDS[20:80], k=3)) for _ in range(i % 4)] for i, (doc_id, *_) in enumerate(CORPUS)}
QUERIES = {"q1": "w21 w30", "q2": "w70 w71 w72 w1", "d5": "w25 w26 w27 w28"}


def made(folder: Path, settings: SparseSettings) -> SparseResults:
    return SparseResults(folder, CORPUS, QUERIES, size=9, top_k=12).give(settings, ADDED).make_all(settings)


def test_chunks_order_batches_and_threads_change_no_byte_of_the_run(tmp_path: Path, unicoil: Path) -> None:
    settings, runs = settings_of(unicoil, quantize="lucene"), set()
    for number, results in enumerate(SparseResults.shuffled(tmp_path, CORPUS, QUERIES, (5, 24))):
        results.give(settings, dict(Random(number).sample([*ADDED.items()], len(ADDED))))
        results.make_all(settings, token_budget=(1, "auto")[number])
        runs.add(Path(results.find_all(settings, threads=1 + number)).read_bytes())
    assert len(runs) == 1


def test_a_new_term_is_found_and_records_name_the_expansion(tmp_path: Path, unicoil: Path) -> None:
    settings = settings_of(unicoil)
    results = made(tmp_path, settings)
    found = rows_of(results.find_all(settings))
    plain = SparseSettings("plain", model=str(unicoil), head="unicoil")
    without = rows_of(results.make_all(plain).find_all(plain))
    assert {row[:2] for row in found} != {row[:2] for row in without}
    assert settings.added is not None
    record = results.record(TERM_WEIGHTS_RECORD, system="u", chunk=1)
    names = {"expansion": settings.added.name, "chunk": 1}
    for pattern in (EXPANSION, EXPANSION_RECORD):
        path = results.path(pattern, **names)
        assert record["inputs"][Path(path).relative_to(results.results).as_posix()] == file_digest(path)
    part = {"kind": "unicoil", "pooling": "max", "activation": "relu", "prefix": "", "most_terms": None, "max_length": 64}
    lengths = {"text_length": TEXT, "expansion_length": EXPANSION_TOKENS}
    assert record["weighed"] == part | lengths | {"added": settings.added.name, "join": "inject", "quantize": "none"}
    run = results.record(RUN_RECORD, system="u")
    assert record["inputs"].items() <= run["inputs"].items()
    assert run["counts"]["added_queries"] == sum(map(len, ADDED.values()))
    assert run["counts"].keys() >= {"truncated_texts", "truncated_expansions"}
    assert run["seconds"]["expand"] > 0


def test_an_expansion_that_is_damaged_changed_or_of_another_corpus_is_refused(tmp_path: Path, unicoil: Path) -> None:
    settings = settings_of(unicoil)
    results = made(tmp_path / "one", settings)
    path = Path(results.added_to(settings, 0) or "")
    content = path.read_bytes()
    results.give(settings, ADDED | {"d0": ["w1"], "d1": ["w2"]})
    with pytest.raises(BeirflowError, match=r"it was made from the expansions/.*chunk-\d\.parquet"):
        results.find_all(settings)
    damage(path)
    with pytest.raises(BeirflowError, match="sha256"):
        results.make(settings, 0)
    other = SparseResults(tmp_path / "other", CORPUS[:20], QUERIES, size=9).give(settings, dict(list(ADDED.items())[:20]))
    for place in (path, path.with_suffix(".json")):
        place.write_bytes(Path(str(other.added_to(settings, 0))).with_suffix(place.suffix).read_bytes())
    with pytest.raises(BeirflowError, match=r"it was made from the corpora/small/documents\.parquet"):
        results.make(settings, 0)
    path.write_bytes(content)
    with pytest.raises(BeirflowError, match=r"1 of the \d+ documents of chunk \d have no line, first 'd3'"):
        results.give(settings, {doc_id: each for doc_id, each in ADDED.items() if doc_id != "d3"})


def test_what_does_not_go_together_is_refused(unicoil: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"text_length 400, expansion_length 100 and 3 special tokens are 503, .* at most 64"):
        weigher_of(settings_of(unicoil, text_length=None, expansion_length=None))
    with pytest.raises(ValueError, match="documents are weighed without an expansion"):
        list(weigher_of(settings_of(unicoil)).windows(["w1"], "documents"))
    other = save_unicoil(tmp_path)
    change_json(other / "tokenizer_config.json", sep_token=None)
    with pytest.raises(ModelError, match=r"has no \[CLS\] or no \[SEP\]"):
        weigher_of(settings_of(other))


def test_settings_come_back_from_the_parameters_of_a_rule(unicoil: Path) -> None:
    settings = settings_of(unicoil, text_length=None, expansion_length=None)
    assert (settings.text_length, settings.expansion_length) == (400, 100)
    assert SparseSettings(**json.loads(json.dumps(asdict(settings)))) == settings
    assert settings.added is not None
    assert settings.added.name == WrittenQueries(path="/given/{dataset}.jsonl").name  # that of a lexical system too
