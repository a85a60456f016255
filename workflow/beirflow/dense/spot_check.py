"""Do the stored vectors represent the texts, and does the run follow from the vectors? A sample of both is made again.

Texts are encoded again with the real model, in other batches than before; sampled queries are searched again over all stored
vectors, in float64 and with nothing of ``search.py``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.dense.settings import DenseSettings
from beirflow.files.layout import CHUNK_VECTORS, MODEL, QUERY_VECTORS, RUN
from beirflow.files.records import read_json
from beirflow.jobs.gpu_job import gpu_job
from beirflow.models.card import Kind
from beirflow.models.encoder import Encoder
from beirflow.models.load import load_encoder
from beirflow.runs.spot_check import Finding, NotHereError, SpotCheck, Subject, compare_ranks, draw

TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2, "int8": 2e-1, "unknown": 5e-2}
"""By precision, the length of the difference of two vectors over the length of the stored one.

Wider than what was measured, because devices and larger models differ more: all-MiniLM-L6-v2 on a CPU, in other batches, at
most 8e-7 in float32, 7e-4 in float16, 5e-3 in bfloat16; against the vectors in float32, 2e-3 and 1.2e-2. paraphrase-MiniLM-L3-v2,
quantised to int8 with scales that depend on the batch: at most 1.1e-1."""

ROUNDING = 4 * 2.0**-24
"""Of a score: what float32 may differ by, over the product of the lengths of the two vectors."""

BLOCK_ROWS = 16_384


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a dense system on one corpus.

    Args:
        subject: The system and the corpus.
        sample: Documents and queries to draw.
        random: Draws them.

    Returns:
        Three checks: documents encoded again, queries encoded again, queries searched again.
    """
    vectors = _Vectors(subject, sample, random)
    folder = QUERY_VECTORS(system=subject.system.name, dataset=subject.dataset).rpartition("/")[0]
    run = RUN(system=subject.system.name, dataset=subject.dataset)
    return [
        SpotCheck("documents encoded again have the stored vectors", folder, partial(vectors.check, "documents")),
        SpotCheck("queries encoded again have the stored vectors", folder, partial(vectors.check, "queries")),
        SpotCheck("queries searched again have the recorded ranks", run, vectors.check_ranks),
    ]


class _Vectors:
    """The vectors of one system for one corpus, and what is drawn of them."""

    def __init__(self, subject: Subject, sample: int, random: np.random.Generator) -> None:
        self.subject, self.sample, self.random = subject, sample, random
        self.settings: DenseSettings = subject.system.settings

    def check(self, kind: Kind) -> Finding:
        """Encode some documents or queries again and compare them with the stored vectors."""
        files = self._files() if kind == "documents" else [self._array(self._path())]
        rows = draw(sum(map(len, files)), self.sample, self.random)
        stored = np.concatenate(list(_rows(files, rows)))
        table = self._documents(rows) if kind == "documents" else self.subject.queries().take(rows)
        again = self._encode(kind, table["text"].to_pylist())
        apart = np.linalg.norm(again - stored, axis=1) / np.maximum(np.linalg.norm(stored, axis=1), 1e-30)
        worst, within = int(np.argmax(apart)), TOLERANCE[self._precision]
        found = f"{self._name}: {len(rows)} {kind}, at most {apart[worst]:.1e} of a vector's length apart"
        passed = bool(apart[worst] <= within)
        found += "" if passed else f", {table[0][worst].as_py()!r}"
        return Finding(passed, found, f"at most {within:.0e} in {self._precision}")

    def check_ranks(self) -> Finding:
        """Search some queries again over all stored vectors and compare with the run."""
        vectors, files = self._array(self._path()), self._files()
        rows = draw(len(vectors), self.sample, self.random)
        ids = self.subject.queries()["query_id"].take(rows).to_pylist()
        cosine = (self.settings.similarity or self._card()["similarity"]) == "cosine"
        queries, longest = _scaled(np.asarray(vectors[rows]), cosine=cosine), [0.0]

        def blocks() -> Iterator[tuple[pa.Array, np.ndarray]]:
            for chunk, array in enumerate(files):
                doc_ids = self.subject.doc_ids(chunk)
                for start in range(0, len(array), BLOCK_ROWS):
                    block = _scaled(np.asarray(array[start : start + BLOCK_ROWS]), cosine=cosine)
                    longest.append(float(np.linalg.norm(block, axis=1).max()))
                    yield doc_ids.slice(start, len(block)), (queries @ block.T).astype(np.float32)

        return compare_ranks(self.subject, ids, blocks(), lambda: ROUNDING * np.linalg.norm(queries, axis=1) * max(longest))

    @property
    def _name(self) -> str:
        return f"{self.subject.system.name} on {self.subject.dataset}"

    @property
    def _precision(self) -> str:
        found = self.subject.made.get("precision")
        if found not in TOLERANCE:
            raise ValueError(f"the run was made in the precision {found!r}")
        return str(found)

    def _card(self) -> Mapping[str, Any]:
        """What the files of the model say, as it was recorded."""
        card = read_json(self.subject.results / MODEL(system=self.subject.system.name)).get("card")
        if not isinstance(card, dict) or card.get("similarity") not in ("dot", "cosine"):
            raise ValueError("the record of the model does not say the similarity")
        return card

    def _path(self, chunk: int | None = None) -> str:
        names: dict[str, Any] = {"system": self.subject.system.name, "dataset": self.subject.dataset}
        return QUERY_VECTORS(**names) if chunk is None else CHUNK_VECTORS(**names, chunk=chunk)

    def _array(self, path: str) -> np.ndarray:
        file = self.subject.results / path
        if not file.is_file():
            raise NotHereError(f"{path} is not here")
        array = np.load(file, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype != np.float32:
            raise ValueError(f"{path} holds {array.dtype} of shape {array.shape}")
        return array

    def _files(self) -> list[np.ndarray]:
        return [self._array(self._path(chunk)) for chunk in range(self.subject.chunks)]

    def _documents(self, rows: np.ndarray) -> pa.Table:
        """Some documents, which are numbered through all chunks; one chunk after the other is read."""
        found, start = [], 0
        for chunk in range(self.subject.chunks):
            size = len(self.subject.doc_ids(chunk))
            here = rows[(rows >= start) & (rows < start + size)] - start
            start += size
            if len(here):
                found.append(self.subject.documents(chunk).take(here))
        return pa.concat_tables(found)

    def _encode(self, kind: Kind, texts: list[str]) -> np.ndarray:
        here = self.subject.here
        if here is None or here.family != self.subject.system.family:
            name = self.subject.system.name
            raise NotHereError(f"it is not known here where the model of {name} is; name it under custom.systems")
        place = {key: getattr(here.settings, key) for key in _PLACE}
        config = self.subject.config
        with gpu_job(config["device"], config["jobs_per_gpu"]):
            settings = replace(self.settings, **place)
            precision = "auto" if settings.has_own_precision else self._precision
            encoder = _encoder(settings, kind, config["device"], precision, config["token_budget"])
            return np.concatenate([vectors for _, vectors in encoder.windows(texts, kind)])


_PLACE = ("model", "offline", "revision", "query_model", "query_revision", "encoder", "arguments")
"""Settings that are those of the person who audits: no code runs because results from elsewhere name it."""


@lru_cache(maxsize=2)
def _encoder(settings: DenseSettings, kind: Kind, device: str, precision: str, token_budget: int | str) -> Encoder:
    """The encoder of a system, which serves one corpus after the other."""
    return load_encoder(settings, kind, device=device, precision=precision, token_budget=token_budget)


def _rows(files: list[np.ndarray], rows: np.ndarray) -> Iterator[np.ndarray]:
    """The vectors of some rows, which are numbered through all files."""
    start = 0
    for array in files:
        here = rows[(rows >= start) & (rows < start + len(array))] - start
        yield np.asarray(array[here])
        start += len(array)


def _scaled(vectors: np.ndarray, *, cosine: bool) -> np.ndarray:
    """Vectors in float64; for the cosine as search rounds them, to length 1 in float32."""
    exact = vectors.astype(np.float64)
    if cosine:
        exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-60)
        exact = exact.astype(np.float32).astype(np.float64)
    return exact
