"""The spot check passes on what was made rightly, and names what was not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from beirflow.core.layout import QUERY_TOKEN_VECTORS, TOKEN_VECTORS
from beirflow.families.late_interaction import vectors
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.spot_check import spot_checks
from beirflow.families.late_interaction.vectors import TokenVectors, read_segments
from beirflow.families.spot_checks.spot_check import NotHereError, Subject
from model_results import LateResults
from spot_checked import DOCUMENTS, SAMPLE, TOP_K, change_a_score, copied, found, made_rightly, passed
from tiny_bert import WORDS
from tiny_colbert import save_colbert
from token_vectors import written


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder = tmp_path_factory.mktemp("spot")
    settings = LateSettings("s", model=str(save_colbert(folder / "model")), query_lengths={"small": 8})
    corpus = [(f"d{i}", "", " ".join(WORDS[i // 2 : i // 2 + 5])) for i in range(DOCUMENTS)]
    queries = {f"q{i}": " ".join(WORDS[3 * i : 3 * i + 2]) for i in range(6)} | {"d3": WORDS[3]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "SEGMENT_TOKENS", 25)
        return made_rightly(LateResults(folder, corpus, queries, size=11, top_k=TOP_K), settings, "late-interaction")


@pytest.fixture
def changeable(made: Subject, tmp_path: Path) -> Subject:
    return copied(made, tmp_path)


def test_what_was_made_rightly_passes(made: Subject, pooled: Subject) -> None:
    assert passed(spot_checks, made)
    assert passed(spot_checks, pooled)


def turned(texts: TokenVectors) -> TokenVectors:
    """One vector points elsewhere."""
    return TokenVectors(texts.counts, np.where(np.arange(len(texts.vectors))[:, None] == 3, -texts.vectors, texts.vectors))


def dropped(texts: TokenVectors) -> TokenVectors:
    """One vector is missing."""
    counts = texts.counts.copy()
    counts[0] -= 1
    return TokenVectors(counts, texts.vectors[1:])


@pytest.mark.parametrize("change", [turned, dropped])
@pytest.mark.parametrize(("kind", "number"), [("documents", 0), ("queries", 1)])
def test_a_wrong_vector_is_found(changeable: Subject, kind: str, number: int, change: Callable) -> None:
    pattern = TOKEN_VECTORS(system="s", dataset="small", chunk=1)
    path = changeable.results / (pattern if kind == "documents" else QUERY_TOKEN_VECTORS(system="s", dataset="small"))
    segments = list(read_segments(path))
    texts = TokenVectors.together([segment.texts for segment in segments])
    starts = np.cumsum([0, *(len(segment.texts.counts) for segment in segments)])
    text = np.concatenate([segment.text + start for segment, start in zip(segments, starts, strict=False)])
    path.unlink()
    written(change(texts), text[np.argsort(np.concatenate([segment.rows for segment in segments]))], path)
    findings = found(spot_checks, changeable)
    assert not findings[number].passed
    assert findings[1 - number].passed


def test_a_wrong_score_and_a_wrong_document_are_found(changeable: Subject) -> None:
    change_a_score(changeable, lambda score: score * np.float32(0.999))
    finding = found(spot_checks, changeable)[-1]
    assert not finding.passed
    assert "has the score" in finding.found


def test_what_is_not_here_is_not_checked(changeable: Subject) -> None:
    with pytest.raises(NotHereError, match="not known here where the model of s is"):
        found(spot_checks, replace(changeable, here=None))
    (changeable.results / TOKEN_VECTORS(system="s", dataset="small", chunk=0)).unlink()
    checks = spot_checks(changeable, SAMPLE, np.random.default_rng(0))
    with pytest.raises(NotHereError, match=r"chunk-0\.arrow is not here"):
        checks[-1].run()


def test_a_chunk_without_documents_is_right(tmp_path: Path) -> None:
    """Documents with the same text are in one chunk, so that another may have none."""
    settings = LateSettings("s", model=str(save_colbert(tmp_path / "model")), query_length=8)
    corpus = [(f"d{i}", "", WORDS[0]) for i in range(6)]
    made = made_rightly(LateResults(tmp_path, corpus, {"q": WORDS[1]}, size=3, top_k=TOP_K), settings, "late-interaction")
    assert [len(made.doc_ids(chunk)) for chunk in range(made.chunks)] == [6, 0]
    assert [finding.found for finding in found(spot_checks, made) if not finding.passed] == []


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Results in which vectors of like tokens are averaged."""
    folder = tmp_path_factory.mktemp("pooled")
    settings = LateSettings("s", model=str(save_colbert(folder / "model")), pool_factor=2)
    corpus = [(f"d{i}", "", " ".join(WORDS[i : i + 9])) for i in range(DOCUMENTS)]
    queries = {f"q{i}": " ".join(WORDS[60 + 3 * i : 63 + 3 * i]) for i in range(4)}
    return made_rightly(LateResults(folder, corpus, queries, size=DOCUMENTS, top_k=TOP_K), settings, "late-interaction")


def towards_a_query(texts: TokenVectors, asked: np.ndarray) -> TokenVectors:
    """The last vector of the first document, which is relevant, is that of a token of the query."""
    changed = texts.vectors.copy()
    changed[texts.starts[1] - 1] = asked
    return TokenVectors(texts.counts, changed)


def one_more(texts: TokenVectors, asked: np.ndarray) -> TokenVectors:
    """It has one more vector."""
    counts = texts.counts.copy()
    counts[0] += 1
    return TokenVectors(counts, np.insert(texts.vectors, texts.starts[1], asked / 8, axis=0))


def opposite(texts: TokenVectors, _: np.ndarray) -> TokenVectors:
    """The mean of a group points away from its tokens."""
    changed = texts.vectors.copy()
    changed[texts.starts[1] - 1] *= -1
    return TokenVectors(texts.counts, changed)


def other_groups(texts: TokenVectors, asked: np.ndarray) -> TokenVectors:
    """Two of its groups are one, which a rounding may do."""
    changed, last = texts.vectors.copy(), texts.starts[1] - 1
    changed[last] = changed[last - 1] = (changed[last] + changed[last - 1]) / 2
    return TokenVectors(texts.counts, changed)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *((change, "beyond those of its tokens") for change in (towards_a_query, opposite)),
        *((one_more, "more than groups"), (other_groups, "")),
    ],
)
def test_other_groups_of_tokens_are_groups_of_its_tokens(pooled: Subject, tmp_path: Path, change: Callable, says: str) -> None:
    subject = copied(pooled, tmp_path)
    asked = next(read_segments(subject.results / QUERY_TOKEN_VECTORS(system="s", dataset="small"))).texts.vectors[2]
    path = subject.results / TOKEN_VECTORS(system="s", dataset="small", chunk=0)
    (segment,) = read_segments(path)
    path.unlink()
    written(change(segment.texts, asked), segment.text, path)
    finding = found(spot_checks, subject)[0]
    assert (finding.passed, says in finding.found) == (not says, True), finding
