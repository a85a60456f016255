"""Arguments of an ``encode`` that was written for MTEB; compared with MTEB itself where that is installed."""

import enum
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beirflow.core.errors import ModelError
from beirflow.data.document_text import KINDS, TITLE_END, Kind
from beirflow.models.encoders.own_encoder import OwnEncoder
from beirflow.models.settings import EncoderSettings
from encoding import encoded, vectors_of
from tiny_bert import save_tiny_bert

MODULE = "encoders_for_mteb"
NO_MTEB = "mteb is not installed: pip install mteb, in an environment of its own"
OF_MTEB_1 = """
import numpy

CALLS = []

class Mine:
    def encode(self, sentences, *, task_name, prompt_type=None, **kwargs):
        CALLS.append((task_name, prompt_type, kwargs))
        return numpy.array([[len(text), 1] for text in sentences])
"""
OF_KEYWORDS = """
import numpy

class Mine:
    def encode(self, sentences, **kwargs):
        right = kwargs["prompt_type"] == "{word}" and kwargs["task_name"] == "NFCorpus"
        return numpy.full((len(sentences), 1), float(right))
"""
OF_MTEB_2 = """
import numpy

BATCHES = []

class Mine:
    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        found = list(inputs)
        BATCHES.append((task_metadata.name, hf_split, hf_subset, prompt_type, found))
        return numpy.array([[len(text), 1] for batch in found for text in batch["text"]])
"""
OF_BEIR = """
class Mine:
    def encode_queries(self, queries, task_metadata):
        raise AssertionError

    encode_corpus = encode_queries
"""
DOCUMENTS = [f"{title}{TITLE_END}{text}" for title, text in (("Title", "and text"), ("", "text only"), ("Only a title", ""))]
JOINED = ["Title and text", "text only", "Only a title"]


@pytest.fixture(autouse=True)
def imported_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop(MODULE, None)
    yield
    sys.modules.pop(MODULE, None)


def load(code: str, folder: Path, kind: Kind, task: str = "NFCorpus") -> OwnEncoder:
    (folder / f"{MODULE}.py").write_text(code)
    return OwnEncoder(EncoderSettings("mine", encoder=f"{MODULE}:Mine", task=task), kind)


@pytest.mark.parametrize(("kind", "prompt_type"), [("queries", "query"), ("documents", "document")])
def test_an_encode_of_mteb_1_gets_the_task_and_the_kind(tmp_path: Path, kind: Kind, prompt_type: str) -> None:
    encoder = load(OF_MTEB_1, tmp_path, kind)
    assert vectors_of(encoder, ["a", "b c"], kind).tolist() == [[1, 1], [3, 1]]
    [(task, found, keywords)] = sys.modules[MODULE].CALLS
    assert (task, found) == ("NFCorpus", prompt_type)
    assert keywords == {"batch_size": 128, "show_progress_bar": False, "convert_to_tensor": False}
    told = {"method": "encode", "task_name": "NFCorpus", "prompt_type": prompt_type}
    assert encoder.described() == {"encoder": f"{MODULE}:Mine", "arguments": {}, **told}


@pytest.mark.parametrize("word", ["document", "passage"])
def test_documents_are_called_by_the_word_of_the_classs_own_module(word: str, tmp_path: Path) -> None:
    """MTEB renamed it; a class that compares with the other word would take documents for queries, without an error."""
    for kind, expected in (("documents", 1), ("queries", 0)):
        sys.modules.pop(MODULE, None)
        encoder = load(OF_KEYWORDS.format(word=word), tmp_path, kind)  # type: ignore[arg-type]
        assert vectors_of(encoder, ["a", "b"], kind).tolist() == [[expected], [expected]]  # type: ignore[arg-type]


class NewKind(enum.StrEnum):
    query = "query"
    document = "document"


class OldKind(str, enum.Enum):  # noqa: UP042
    query = "query"
    passage = "passage"


@pytest.mark.parametrize(("place", "members"), [("mteb.types", NewKind), ("mteb.encoder_interface", OldKind)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_imports_mteb_gets_its_own_values(
    place: str, members: Any, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("mteb.types", "mteb.encoder_interface"):
        monkeypatch.delitem(sys.modules, each, raising=False)
    monkeypatch.setitem(sys.modules, place, SimpleNamespace(PromptType=members))
    encoder = load(OF_MTEB_1, tmp_path, kind)
    vectors_of(encoder, ["a"], kind)
    [(_, found, _)] = sys.modules[MODULE].CALLS
    expected = list(members)[kind == "documents"]
    assert found is expected
    assert json.dumps(encoder.described()["prompt_type"]) == f'"{expected.value}"'


class Rows:
    """Rows of columns; stands in for the class of the package ``datasets``, which comes with MTEB."""

    def __init__(self, columns: dict[str, list[str]]) -> None:
        self.features = columns

    @classmethod
    def from_dict(cls, columns: dict[str, list[str]]) -> "Rows":
        return cls(columns)

    def __len__(self) -> int:
        return len(self.features["text"])

    def __getitem__(self, row: int) -> dict[str, str]:
        return {name: column[row] for name, column in self.features.items()}


def get_task(name: str) -> Any:
    """Stands in for MTEB's."""
    if name != "NFCorpus":
        raise KeyError(name)
    return SimpleNamespace(metadata=SimpleNamespace(name=name, eval_splits=["test"], hf_subsets=["default"]))


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for MTEB 2 where it is not installed."""
    monkeypatch.setitem(sys.modules, "mteb", SimpleNamespace(get_task=get_task, __version__="2.26.24"))
    monkeypatch.setitem(sys.modules, "mteb.types", SimpleNamespace(PromptType=NewKind))
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(Dataset=Rows))


@pytest.mark.usefixtures("stand_ins")
def test_an_encode_of_mteb_2_gets_a_loader_and_the_metadata_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beirflow.models.encoders.own_encoder.BATCH_TEXTS", 2)
    encoder = load(OF_MTEB_2, tmp_path, "documents")
    assert vectors_of(encoder, DOCUMENTS, "documents")[:, 0].tolist() == [len(text) for text in JOINED]
    [(*facts, batches)] = sys.modules[MODULE].BATCHES
    assert facts == ["NFCorpus", "test", "default", NewKind.document]
    assert [batch["text"] for batch in batches] == [JOINED[:2], JOINED[2:]]
    assert [batch["title"] + batch["body"] for batch in batches] == [["Title", "", "and text", "text only"], ["Only a title", ""]]
    assert encoder.described()["task_name"] == "NFCorpus"
    encoder = load(OF_MTEB_2, tmp_path, "queries")
    vectors_of(encoder, ["a query"], "queries")
    *_, (*facts, batches) = sys.modules[MODULE].BATCHES
    assert (facts[3], batches) == (NewKind.query, [{"text": ["a query"], "query": ["a query"]}])


@pytest.mark.usefixtures("stand_ins")
def test_metadata_that_nothing_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"system mine: encode wants task_metadata, and MTEB 2.26.24 has no task mine; for this"):
        load(OF_MTEB_2, tmp_path, "queries", task="mine")
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ModelError, match=r"system mine: encode wants task_metadata, which MTEB has; pip install 'mteb>=2'"):
        load(OF_MTEB_2, tmp_path, "queries")
    sys.modules.pop(MODULE)
    with pytest.raises(ModelError, match="encode_queries wants task_metadata, which beirflow does not pass"):
        load(OF_BEIR, tmp_path, "queries")


def test_batches_are_those_of_mteb(tmp_path: Path) -> None:
    loaders = pytest.importorskip("mteb._create_dataloaders", reason=NO_MTEB)
    import mteb
    from datasets import Dataset

    documents = [("Title", "and text"), ("Only a title", ""), ("", "  text only"), (" ", " "), ("T ", "\tends\n"), ("", "")]
    rows = [{"id": str(row), "title": title, "text": text} for row, (title, text) in enumerate(documents)]
    metadata = mteb.get_task("NFCorpus").metadata
    types: dict[Kind, Any] = {"documents": mteb.types.PromptType.document, "queries": mteb.types.PromptType.query}
    for kind, prompt_type in types.items():
        theirs = loaders.create_dataloader(
            Dataset.from_list(rows), task_metadata=metadata, prompt_type=prompt_type, batch_size=128
        )
        parts = {
            "documents": [f"{row['title']}{TITLE_END}{row['text']}" for row in rows],
            "queries": [row["text"] for row in rows],
        }
        encoder = load(OF_MTEB_2, tmp_path, kind)
        vectors_of(encoder, parts[kind], kind)
        *_, (name, split, subset, found, batches) = sys.modules[MODULE].BATCHES
        assert (name, split, subset, found) == ("NFCorpus", "test", "default", prompt_type)
        assert batches == [{key: batch[key] for key in batches[0]} for batch in theirs]


@pytest.mark.parametrize("kind", KINDS)
def test_mtebs_own_wrapper_of_a_model_gives_our_vectors(kind: Kind, tmp_path: Path) -> None:
    """A class of MTEB can be named as it is."""
    pytest.importorskip("mteb", reason=NO_MTEB)
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(save_tiny_bert(tmp_path / "plain")), device="cpu").save(str(tmp_path / "model"))
    wrapper = "mteb.models.sentence_transformer_wrapper:SentenceTransformerEncoderWrapper"
    arguments = {"model": str(tmp_path / "model"), "device": "cpu"}
    theirs = OwnEncoder(EncoderSettings("theirs", encoder=wrapper, arguments=arguments, task="NFCorpus"), kind)
    settings = EncoderSettings("ours", model=str(tmp_path / "model"))
    texts = ["a", "the cat sat on the mat", "", "two words"]
    given = [f"{TITLE_END}{text}" for text in texts] if kind == "documents" else texts
    np.testing.assert_allclose(vectors_of(theirs, given, kind), encoded(settings, texts, kind), atol=1e-5)
