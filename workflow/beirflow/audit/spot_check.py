"""Do the stored vectors stand for the texts, and the runs for the vectors? A sample of both is made again.

Texts are encoded again with the real model, in other batches than before; sampled queries are searched again over all stored
vectors, in float64 and with nothing of ``search.py``.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain, part
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, Number, RecordError, damaged
from beirflow.experiment.experiment import Experiment
from beirflow.files.errors import BeirflowError
from beirflow.models.encoder import TransformersEncoder
from beirflow.models.model_files import model_folder
from beirflow.models.settings import System

TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""By precision, the length of the difference of two vectors over the length of the stored one.

Wider than what was measured, because devices and larger models differ more: all-MiniLM-L6-v2 on a CPU, in other batches, at
most 8e-7 in float32, 7e-4 in float16, 5e-3 in bfloat16; against the vectors in float32, 2e-3 and 1.2e-2."""

ROUNDING = 4 * 2.0**-24
"""Of a score: what float32 may differ by, over the product of the lengths of the two vectors."""

BLOCK_ROWS = 65_536

SPARE = 100
"""Documents beyond the last rank that are looked at, since two scores may differ in their last digit."""


class _AbsentError(Exception):
    """Something is not here that the check needs; the message says what."""


def check_samples(chain: Chain, experiment: Experiment, sample: int, seed: int) -> list[Check]:
    """Encode and search a sample again.

    Args:
        chain: What records say.
        experiment: The configuration of whoever audits, which says where models are and on which device to compute.
        sample: Documents and queries of each corpus.
        seed: Of the draw.

    Returns:
        Three checks for every system and corpus: documents, queries, ranks.
    """
    random, checks = np.random.default_rng(seed), []
    encoders: dict[tuple[str, str], TransformersEncoder] = {}
    for (system, dataset), dataset_row in chain.evaluated.items():
        corpus = _Corpus(chain, experiment, system, dataset, (system, dataset_row), encoders)
        checks += [
            corpus.check("documents", sample, random),
            corpus.check("queries", sample, random),
            corpus.check_ranks(sample, random),
        ]
    return checks


class _Corpus:
    """The vectors of one system for one corpus."""

    def __init__(
        self,
        chain: Chain,
        experiment: Experiment,
        system: str,
        dataset: str,
        number: Number,
        encoders: dict[tuple[str, str], TransformersEncoder],
    ) -> None:
        self.chain, self.experiment, self.system, self.dataset, self.number = chain, experiment, system, dataset, number
        self._encoders = encoders

    def check(self, kind: str, sample: int, random: np.random.Generator) -> Check:
        """Encode some documents or queries again and compare them with the stored vectors."""
        name, path = f"{kind} encoded again have the stored vectors", self._vectors
        try:
            files = self._files() if kind == "documents" else [self._array("queries")]
            rows = self._draw(sum(map(len, files)), sample, random)
            stored = np.concatenate(list(self._rows(files, rows)))
            ids, texts = self._texts(kind, rows)
            encoder = self._encoder()
            again = encoder.encode_corpus(texts) if kind == "documents" else encoder.encode_queries(texts)
            apart = np.linalg.norm(again - stored, axis=1) / np.maximum(np.linalg.norm(stored, axis=1), 1e-30)
        except (_AbsentError, BeirflowError) as error:
            return Check(name, NOT_CHECKED, f"{self.system} on {self.dataset}: {error}")
        except (RecordError, *UNREADABLE) as error:
            return damaged(name, path, error, [self.number], self._again())
        worst, within = int(np.argmax(apart)), TOLERANCE[self._precision]
        found = f"{self.system} on {self.dataset}: {len(ids)} {kind}, at most {apart[worst]:.1e} of a vector's length apart"
        expected = f"at most {within:.0e} in {self._precision}"
        if apart[worst] <= within:
            return Check(name, PASSED, found, expected)
        return Check(name, FAILED, f"{found}, {ids[worst]!r}", expected, (path,), (self.number,), self._again())

    def check_ranks(self, sample: int, random: np.random.Generator) -> Check:
        """Search some queries again over all stored vectors and compare with the run."""
        name, path = "queries searched again have the recorded ranks", f"runs/{self.system}/{self.dataset}.parquet"
        try:
            query_vectors, files = self._array("queries"), self._files()
            rows = self._draw(len(query_vectors), sample, random)
            ids, _ = self._texts("queries", rows)
            found = list(self._search(np.asarray(query_vectors[rows]), files, ids))
            run = pq.read_table(self.chain.folder / path, filters=[("query_id", "in", ids)])
            recorded: dict[str, list[tuple[str, float]]] = {query: [] for query in ids}
            for query, doc_id, score in zip(*(run[key].to_pylist() for key in ("query_id", "doc_id", "score")), strict=True):
                recorded[query].append((doc_id, score))
        except (_AbsentError, BeirflowError) as error:
            return Check(name, NOT_CHECKED, f"{self.system} on {self.dataset}: {error}")
        except (RecordError, *UNREADABLE) as error:
            return damaged(name, path, error, [self.number], self.chain.again(path))
        for query, (ranked, slack) in zip(ids, found, strict=True):
            if problem := _difference(recorded[query], ranked, slack):
                what = f"{path}: query {query!r}, {problem}"
                return Check(name, FAILED, what, "exact search over all vectors", (path,), (self.number,), self.chain.again(path))
        return Check(name, PASSED, f"{self.system} on {self.dataset}: {len(ids)} queries, every rank as in {path}")

    @property
    def _vectors(self) -> str:
        return f"embeddings/{self.system}/{self.dataset}"

    def _again(self) -> str:
        folder = f"{self.chain.shown}/{self._vectors}"
        return f"rm -r {folder}; snakemake --cores 2 {folder}/queries.npy {self.chain.shown}/summary.csv"

    @property
    def _record(self) -> Any:
        return part(self.chain.records, f"runs/{self.system}/{self.dataset}.json", kind=dict)

    @property
    def _precision(self) -> str:
        return part(self._record, "precision", kind=str)

    def _array(self, stem: str) -> np.ndarray:
        path = self.chain.folder / f"{self._vectors}/{stem}.npy"
        if not path.is_file():
            raise _AbsentError(f"{self._vectors}/{stem}.npy is not here")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype != np.float32:
            raise RecordError(f"{path.name} holds {array.dtype} of shape {array.shape}")
        return array

    def _files(self) -> list[np.ndarray]:
        chunks = part(self._record, "from_sha256", "chunks", kind=list)
        return [self._array(f"chunk-{chunk}") for chunk in range(len(chunks))]

    @staticmethod
    def _draw(total: int, sample: int, random: np.random.Generator) -> np.ndarray:
        return np.sort(random.choice(total, size=min(sample, total), replace=False))

    @staticmethod
    def _rows(files: list[np.ndarray], rows: np.ndarray) -> Iterator[np.ndarray]:
        """The vectors of some rows, which are numbered through all files."""
        start = 0
        for array in files:
            here = rows[(rows >= start) & (rows < start + len(array))] - start
            yield np.asarray(array[here])
            start += len(array)

    def _texts(self, kind: str, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """Ids and texts of some rows; one row group after the other is read."""
        ids, texts, start = [], [], 0
        with pq.ParquetFile(self.chain.folder / f"corpora/{self.dataset}/{kind}.parquet") as file:
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                here = rows[(rows >= start) & (rows < start + size)] - start
                start += size
                if len(here):
                    table = file.read_row_group(group).take(here)
                    ids += table.column(0).to_pylist()
                    texts += table["text"].to_pylist()
        return ids, texts

    def _encoder(self) -> TransformersEncoder:
        key = (self.system, self._precision)
        if key not in self._encoders:
            here = self.experiment.systems.get(self.system)
            if here is None:
                raise _AbsentError(f"where the model of {self.system} lies is not known here; name it under custom.systems")
            recorded = System(**part(self.chain.manifest, "systems", self.system, kind=dict))
            system = replace(recorded, model=here.model, offline=here.offline, revision=here.revision)
            device, budget = self.experiment.config["device"], self.experiment.config["token_budget"]
            folder = Path(model_folder(system))
            self._encoders[key] = TransformersEncoder(
                system, folder, device=device, precision=self._precision, token_budget=budget
            )
        return self._encoders[key]

    def _search(
        self, queries: np.ndarray, files: list[np.ndarray], ids: list[str]
    ) -> Iterator[tuple[list[tuple[str, float]], float]]:
        """For each query its best documents with their scores, best first; and how far two scores may be apart."""
        cosine = part(self.chain.manifest, "systems", self.system, "similarity") == "cosine"
        top_k = part(self.chain.manifest, "configuration", "top_k", kind=int)
        drop = self.chain.corpora[self.dataset]["drop_self_matches"]
        matrix, longest, done = _scaled(queries, cosine=cosine), 0.0, 0
        scores = np.empty((len(queries), sum(map(len, files))), np.float32)
        for array in files:
            for start in range(0, len(array), BLOCK_ROWS):
                block = _scaled(np.asarray(array[start : start + BLOCK_ROWS]), cosine=cosine)
                longest = max(longest, float(np.linalg.norm(block, axis=1).max()))
                scores[:, done : done + len(block)] = matrix @ block.T
                done += len(block)
        doc_ids = pq.read_table(self.chain.folder / f"corpora/{self.dataset}/documents.parquet", columns=["doc_id"])["doc_id"]
        for query, values in enumerate(scores):
            slack = float(ROUNDING * np.linalg.norm(matrix[query]) * longest)
            keep = min(len(values), top_k + 1)
            least = np.partition(values, len(values) - keep)[len(values) - keep] - 2 * slack
            some = np.flatnonzero(values >= least)
            ranked = sorted(zip(values[some].tolist(), doc_ids.take(some).to_pylist(), strict=True), reverse=True)
            yield [(doc_id, score) for score, doc_id in ranked if not (drop and doc_id == ids[query])][: top_k + SPARE], slack


def _scaled(vectors: np.ndarray, *, cosine: bool) -> np.ndarray:
    """Vectors in float64; for the cosine as search rounds them, to length 1 in float32."""
    exact = vectors.astype(np.float64)
    if cosine:
        exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-60)
        exact = exact.astype(np.float32).astype(np.float64)
    return exact


def _difference(recorded: list[tuple[str, float]], ranked: list[tuple[str, float]], slack: float) -> str:
    """Where a run differs by more than rounding from the documents ranked again; empty if nowhere."""
    again = dict(ranked)
    for rank, ((doc_id, score), (expected_id, expected)) in enumerate(zip(recorded, ranked, strict=False), 1):
        if doc_id != expected_id and abs(again.get(doc_id, -np.inf) - expected) > slack:
            return f"rank {rank} is {doc_id!r}, expected {expected_id!r}"
        if abs(again.get(doc_id, -np.inf) - score) > slack:
            return f"the score of {doc_id!r} is {score!r}, expected {again.get(doc_id)!r}"
    return ""
