"""A class of the user's own as an encoder: what it gets, what it may give, and what is refused."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind, as_read, document_text, joined_text
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.encoders import own_encoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.own_encoder import OwnEncoder
from beirflow.models.settings import EncoderSettings
from encoding import vectors_of

THIS = "encoders_of_mine"
DIM = 3


def vector(text: str) -> list[float]:
    return [len(text), text.count("a"), 1]


class ForBeir:
    """beir's contract."""

    def __init__(self, form: str = "list") -> None:
        self.form, self.calls = form, list[Any]()

    def encode_queries(self, queries: list[str], batch_size: int, **kw: Any) -> Any:
        self.calls.append(("queries", batch_size, kw))
        return FORMS[self.form](queries)

    def encode_corpus(self, corpus: list[Mapping[str, str]], batch_size: int) -> Any:
        self.calls.append(("corpus", batch_size, corpus))
        return FORMS[self.form]([(doc["title"] + " " + doc["text"]).strip() for doc in corpus])


class OnlyQueries:
    def encode_queries(self, queries: Sequence[str]) -> Any:
        return FORMS["numpy"](queries)


class Neither:
    pass


class ForSentenceTransformers:
    """Its contract: encode alone would leave the prompts out."""

    def encode_query(self, inputs: list[str], prompt: str | None = None, batch_size: int = 32) -> Any:
        return FORMS["numpy"]([f"a{text}" for text in inputs])

    def encode_document(self, inputs: list[str], prompt: str | None = None, batch_size: int = 32) -> Any:
        return FORMS["numpy"](inputs)

    def encode(self, inputs: list[str]) -> Any:
        raise AssertionError


def numbers(texts: Sequence[str], kind: Any = np.float32) -> np.ndarray:
    return np.array([vector(text) for text in texts], dtype=kind)


def with_one(texts: Sequence[str], value: float) -> np.ndarray:
    found = numbers(texts, np.float64)
    found[[i for i, text in enumerate(texts) if text == "bad"], 1] = value
    return found


def fails(texts: Sequence[str]) -> Any:
    raise KeyError("no such thing")


def exits(texts: Sequence[str]) -> Any:
    raise SystemExit("no licence")


BUFFER = torch.zeros(8, DIM)


def in_buffer(texts: Sequence[str]) -> Any:
    BUFFER[: len(texts)] = torch.tensor(numbers(texts))
    return BUFFER[: len(texts)]


FORMS: dict[str, Any] = {
    "numpy": numbers,
    "float16": lambda texts: numbers(texts, np.float16),
    "float64": lambda texts: numbers(texts, np.float64),
    "integers": lambda texts: numbers(texts, np.int64),
    "list": lambda texts: [vector(text) for text in texts],
    "list of arrays": lambda texts: list(numbers(texts)),
    "tensor": lambda texts: torch.tensor(numbers(texts), requires_grad=True),
    "bfloat16": lambda texts: torch.tensor(numbers(texts)).bfloat16(),
    "same tensor again": in_buffer,
    "list of tensors": lambda texts: list(torch.tensor(numbers(texts))),
    "a row less": lambda texts: numbers(texts)[1:],
    "one row": lambda texts: numbers(texts)[0],
    "no dimensions": lambda texts: numbers(texts)[:, :0],
    "three axes": lambda texts: numbers(texts)[None],
    "ragged": lambda texts: [[1.0] * (1 + i) for i in range(len(texts))],
    "texts": lambda texts: [["1", "2", "3"] for _ in texts],
    "nothing": lambda texts: None,
    "other dimensions later": lambda texts: numbers(texts)[:, : 3 - ("bad" in texts)],
    "nan": lambda texts: with_one(texts, np.nan),
    "infinity": lambda texts: with_one(texts, np.inf),
    "too large": lambda texts: with_one(texts, 1e300),
    "fails": fails,
    "exits": exits,
    "packed bits": lambda texts: np.packbits(numbers(texts) > 1, axis=1),
    "int8": lambda texts: numbers(texts, np.int8),
    "int8 tensor": lambda texts: torch.tensor(numbers(texts, np.int8)),
    "complex": lambda texts: torch.tensor(numbers(texts)).to(torch.complex64),
    "booleans": lambda texts: torch.tensor(numbers(texts)) > 0,
}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The classes above in a module that can be imported by name."""
    names = ("ForBeir", "OnlyQueries", "Neither", "ForSentenceTransformers", "Demanding", "Sorts", "Prefixes", "Keeps")
    code = f"import test_own_encoder_of_mine as here\n{chr(10).join(f'{name} = here.{name}' for name in names)}\n"
    (tmp_path / f"{THIS}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "test_own_encoder_of_mine", sys.modules[__name__])
    monkeypatch.delitem(sys.modules, THIS, raising=False)
    yield
    sys.modules.pop(THIS, None)


def load(name: str = "ForBeir", kind: Any = "documents", **arguments: Any) -> OwnEncoder:
    system = EncoderSettings(name="mine", encoder=f"{THIS}:{name}", arguments=arguments or None)
    encoder = load_encoder(system, kind, device="cpu", precision="bfloat16", token_budget="auto")
    assert isinstance(encoder, OwnEncoder)
    return encoder


TEXTS = ["a", "banana", "", "c d"]


@pytest.mark.parametrize("form", list(FORMS)[:10])
@pytest.mark.parametrize("kind", ["queries", "documents"])
def test_every_form_of_vectors_is_taken(form: str, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_encoder, "WINDOW_TEXTS", 3)
    encoder = load(kind=kind, form=form)
    found = vectors_of(encoder, TEXTS * 2, kind)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, numbers(TEXTS * 2))
    assert encoder.dim == DIM


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("a row less", r"shape \(3, 3\) for 4 texts; expected \(4, 'dimensions'\)"),
        ("one row", r"shape \(3,\) for 4 texts"),
        ("no dimensions", r"shape \(4, 0\) for 4 texts"),
        ("three axes", r"shape \(1, 4, 3\) for 4 texts"),
        ("ragged", "fails: ValueError"),
        ("texts", "expected numbers, found list of <U1"),
        ("nothing", "expected numbers, found NoneType of object"),
        ("fails", r"fails: KeyError: 'no such thing' in .*test_own_encoder.py, line"),
        ("exits", r"fails: SystemExit: no licence in .*test_own_encoder.py, line"),
        ("packed bits", "found uint8, which may be quantised numbers or packed bits; give astype"),
        ("int8", "found int8, which may be"),
        ("int8 tensor", "found int8, which may be"),
        ("complex", "expected numbers, found Tensor of complex64"),
        ("booleans", "expected numbers, found Tensor of bool"),
    ],
)
def test_what_is_no_vector_a_text_is_refused(form: str, words: str) -> None:
    with pytest.raises(ModelError, match=f"system mine: encode_corpus of {THIS}:ForBeir .*{words}"):
        vectors_of(load(form=form), TEXTS)


@pytest.mark.parametrize("form", ["nan", "infinity", "too large"])
def test_the_row_of_a_vector_that_is_not_finite_is_named(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_encoder, "WINDOW_TEXTS", 2)
    with pytest.raises(NotFiniteError) as caught:
        vectors_of(load(form=form), [*TEXTS, "ok", "bad"])
    assert caught.value.row == 5


def test_windows_keep_their_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_encoder, "WINDOW_TEXTS", 3)
    with pytest.raises(ModelError, match="gives vectors of 2 dimensions, after others of 3"):
        vectors_of(load(form="other dimensions later"), [*TEXTS, "bad"])


class Sorts:
    """Sorts the texts that it gets by length, and gives vectors in that order."""

    def encode(self, sentences: list[str]) -> Any:
        sentences.sort(key=len)
        return numbers(sentences)


class Prefixes:
    """Changes the texts that it gets, and not their order."""

    def encode(self, sentences: list[str]) -> Any:
        sentences[:] = [f"a{text}" for text in sentences]
        return numbers(sentences)


def test_a_class_that_sorts_the_texts_that_it_gets_is_refused() -> None:
    with pytest.raises(ModelError, match=r"encode of .*:Sorts changes the order of the texts that it gets"):
        vectors_of(load("Sorts"), TEXTS)
    np.testing.assert_array_equal(vectors_of(load("Sorts"), sorted(TEXTS, key=len)), numbers(sorted(TEXTS, key=len)))
    np.testing.assert_array_equal(vectors_of(load("Prefixes"), TEXTS), numbers([f"a{text}" for text in TEXTS]))


class Keeps:
    """Shows its key."""

    def __init__(self, api_key: str, parts: list[str]) -> None:
        self.key, self.parts = api_key, parts

    def encode(self, sentences: list[str]) -> Any:
        raise ValueError(f"{self.key} and {self.parts[0]} are wrong")


def test_variables_of_the_environment_are_known_to_the_class_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_MINE", "s3cret")
    told = {"api_key": "${KEY_OF_MINE}", "parts": ["http://bob:${KEY_OF_MINE}@host/"]}
    encoder = load("Keeps", **told)
    assert (encoder._method.__self__.key, encoder._method.__self__.parts) == ("s3cret", ["http://bob:s3cret@host/"])
    assert encoder.described()["arguments"] == told
    with pytest.raises(ModelError, match=r"fails: ValueError: … and http://host/ are wrong in "):
        vectors_of(encoder, TEXTS)
    monkeypatch.delenv("KEY_OF_MINE")
    with pytest.raises(ModelError, match="the environment variable KEY_OF_MINE, which the configuration names, is not set"):
        load("Keeps", **told)


def test_beirs_contract_gets_what_beir_gives() -> None:
    queries, documents = load(kind="queries"), load()
    vectors_of(queries, ["q"], "queries")
    vectors_of(documents, ["d"])
    assert queries._method.__self__.calls == [("queries", 128, {"show_progress_bar": False, "convert_to_tensor": False})]
    assert documents._method.__self__.calls == [("corpus", 128, [{"title": "", "text": "d"}])]


ROWS = [("Title", "and text"), ("", "  text only"), ("Only a title", ""), (" é", "ends\n"), (" ", "\n\nblank title"), ("", "")]
"""Titles and texts of documents."""

READ = ["Title and text", "text only", "Only a title", "é ends", "blank title", ""]
"""The same as beir and MTEB join them."""


def documents_of(rows: Sequence[tuple[str, str]], separator: str | None) -> list[str]:
    """Documents as they reach an encoder."""
    columns = {
        "doc_id": [str(row) for row in range(len(rows))],
        "text": pa.array([joined_text(*row) for row in rows], pa.large_string()),
        "title_bytes": [len(title.encode()) for title, _ in rows],
    }
    return as_read(pa.table(columns), separator)["text"].to_pylist()


def test_titles_and_texts_come_apart_for_beirs_contract_and_joined_for_others() -> None:
    """beir hands over both, and a class may write its own separator between them or read one of them only."""
    encoder = load()
    texts = documents_of(ROWS, encoder.system.between)
    vectors_of(encoder, texts)
    assert encoder._method.__self__.calls[0][2] == [{"title": title, "text": text} for title, text in ROWS]
    np.testing.assert_array_equal(vectors_of(load("ForSentenceTransformers"), texts), numbers(READ))


def test_every_kind_of_encoder_reads_what_the_beir_package_reads() -> None:
    util = pytest.importorskip("beir.retrieval.models.util", reason="beir is not installed")
    theirs = util.extract_corpus_sentences([{"title": title, "text": text} for title, text in ROWS], sep=" ")
    assert theirs == READ == documents_of(ROWS, None) == [document_text(*row) for row in ROWS]
    encoder = load()
    vectors_of(encoder, documents_of(ROWS, encoder.system.between))
    rows: list[dict[str, str]] = encoder._method.__self__.calls[0][2]
    assert util.extract_corpus_sentences(rows, sep=" [SEP] ") == documents_of(ROWS, " [SEP] ")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("OnlyQueries", {}, ":OnlyQueries has only one of encode_queries and encode_corpus"),
        ("Neither", {}, "has neither encode_queries and encode_corpus, as beir calls them, nor encode_query and encode_document"),
        ("ForBeir", {"wrong": 1}, ":ForBeir cannot be made: TypeError: .*unexpected keyword argument 'wrong'"),
        ("Demanding", {}, "system mine: encode_queries wants instruction, which beirflow does not pass"),
    ],
)
def test_a_class_that_cannot_be_used_says_why(name: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=f"^system mine: .*{words}" if "system" not in words else f"^{words}"):
        load(name, **arguments)


def test_the_record_says_class_and_arguments_and_no_precision_that_nobody_knows() -> None:
    encoder = load(form="numpy")
    assert encoder.described() == {"encoder": f"{THIS}:ForBeir", "arguments": {"form": "numpy"}, "method": "encode_corpus"}
    made = encoder.made()
    assert (made["precision"], made["torch"]) == ("unknown", torch.__version__)
    assert (encoder.counts_of("documents"), encoder.dim) == ({}, DIM)


@pytest.mark.parametrize(("kind", "read"), [("queries", "ab"), ("documents", "b")])
def test_a_class_that_encodes_queries_and_documents_apart_is_not_asked_for_both_at_once(kind: Kind, read: str) -> None:
    assert vectors_of(load("ForSentenceTransformers", kind), ["b"], kind).tolist() == [vector(read)]


class Demanding:
    def encode_queries(self, queries: list[str], instruction: str) -> Any:
        raise AssertionError

    encode_corpus = encode_queries
